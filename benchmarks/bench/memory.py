"""Peak memory of one step above the built model, from a process of its own (Linux).

python -m bench.memory REQUEST    prints it, MB; REQUEST is what `peak` sends
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch

import swin_mm
from bench.cells import Cell
from bench.entrants import Exports, enter
from bench.networks import Entrant, in_precision, prepared, step

ROOT = Path(__file__).parents[2]
WORDS = (
    "the peak of resident memory of one step above what the process held with the network and its "
    "input built and torch warmed up by a small network; each figure from a process of its own"
)


def peak(what: str, cell: Cell, *, exports: Exports | None = None, threads: int = 2) -> int:
    """Measure in a process of its own.

    Returns:
        MB (2 ** 20 bytes).

    Raises:
        RuntimeError: with the process's last words, if it fails.
    """
    request = {"what": what, "cell": asdict(cell), "threads": threads}
    if exports is not None and cell.peer in ("openvino", "onnxruntime"):
        request["file"] = str(exports.file(cell))
    behind = os.environ.get("PYTHONPATH", "")
    places = [str(ROOT / "benchmarks"), str(ROOT), *filter(None, [behind])]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "bench.memory", json.dumps(request)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {what} ({cell}) failed: {done.stderr[-800:]}")
    return round(int(done.stdout.split()[-1]) / 2**20)


def measure(what: str, cell: Cell, *, exports: Exports | None = None, threads: int = 2) -> int:
    """Measure in this process, which should have done nothing else, bytes."""
    torch.set_num_threads(threads)
    entrant = enter(what, cell, exports=exports, threads=threads)
    pictures, height, width = cell.shape
    x = in_precision(torch.randn(pictures, 3, height, width), cell.precision)
    _warm_up(cell)
    _give_back()
    Path("/proc/self/clear_refs").write_text("5")  # peaks start anew
    before = resident_peak()
    step(entrant, x, trains=cell.trains, precision=cell.precision)
    return resident_peak() - before


def resident_peak() -> int:
    """Bytes of this process's memory in use at their peak since it was last set back."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def _warm_up(cell: Cell) -> None:
    """Let torch load its kernels; whom it is done for must not matter, so a small network does."""
    small = swin_mm.SwinTransformer(embed_dims=8, depths=(1,) * 4, num_heads=(1,) * 4)
    prepared(small, cell.precision, training=cell.trains)
    x = in_precision(torch.randn(1, 3, 64, 64), cell.precision)
    step(Entrant(small, small), x, trains=cell.trains, precision=cell.precision)


def _give_back() -> None:
    """Hand what building left behind back to the system, or it would hide in the figure."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    cell = Cell(**asked["cell"])
    exports = None
    if "file" in asked:
        file = Path(asked["file"])
        exports = Exports(file.parent, {(cell.variant, cell.case): file})
    print(measure(asked["what"], cell, exports=exports, threads=asked["threads"]))
