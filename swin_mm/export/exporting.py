"""Export a network, and keep the file only if it computes what the network does."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import torch
from torch import nn

from swin_mm.export import to_onnx, to_openvino, to_torch
from swin_mm.export.compare import (
    TOLERANCE,
    Comparison,
    backbone_of,
    compare,
    sizes_to_compare,
    sizes_to_trace,
)
from swin_mm.export.description import Description
from swin_mm.export.errors import ExportError, MismatchError, require
from swin_mm.export.parts import describe
from swin_mm.export.tracing import trace

Target = Literal["onnx", "openvino", "torch-export"]
TARGETS: tuple[Target, ...] = get_args(Target)
NEEDS = {
    "onnx": ("onnx", "onnxscript", "onnxruntime"),
    "openvino": ("onnx", "onnxscript", "openvino"),
    "torch-export": (),
}
SUFFIXES = {"onnx": ".onnx", "openvino": ".xml", "torch-export": ".pt2"}


@dataclass(frozen=True)
class Exported:
    """What an export made.

    Attributes:
        files: the file to load, then what lies beside it.
        comparison: how near it is to the network.
    """

    files: tuple[Path, ...]
    comparison: Comparison


def export(
    network: nn.Module,
    out: str | os.PathLike,
    *,
    to: Target,
    description: Description | None = None,
    opset: int | None = None,
    image_size: tuple[int, int] | None = None,
    force: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Exported:
    """Write a network for batches, heights and widths of any size, and compare it.

    The file is run before it gets its name, at sizes it was not traced at: one window, odd sizes,
    less than a window. The network is not changed, and left in evaluation mode.

    Args:
        network: a backbone of ours, or what :func:`take_part` gives, float32 on the CPU.
        out: the file; ends in .onnx, .xml or .pt2.
        to: the format.
        description: what the file says of itself; needed for all but a backbone.
        opset: ONNX's operator set, 18 to 23; 18 by default.
        image_size: height and width, px, of pictures to compare at too.
        force: replace files that are there.
        tell: is handed a line before each step, some of which take minutes.

    Returns:
        The files, and the comparison.

    Raises:
        MismatchError: if it computes something else at any size. No file is left.
        ExportError: if it cannot be exported.
    """
    out = Path(out)
    _check(out, to, opset, image_size, force=force)
    network = network.eval()
    if description is None:
        if backbone_of(network) is not network:
            raise ExportError("say what is exported: description=..., as load_part returns it")
        description = describe(network, "backbone", None)
    opset = to_onnx.DEFAULT_OPSET if opset is None else opset
    write = {
        "onnx": functools.partial(to_onnx.write, opset=opset),
        "openvino": to_openvino.write,
        "torch-export": to_torch.write,
    }[to]
    load = {"onnx": to_onnx.load, "openvino": to_openvino.load, "torch-export": to_torch.load}[to]
    batch, height, width = sizes_to_trace(network)
    channels = backbone_of(network).patch_embed.projection.in_channels
    # Runtimes other than torch have no fused attention that takes a bias and a mask a window.
    tell(f"Tracing {description.part}")
    program = trace(
        network, torch.zeros(batch, channels, height, width), write_out=to != "torch-export"
    )
    sizes = [*sizes_to_compare(network), *([(1, *image_size)] if image_size else [])]
    # Beside the final place, under the final names, by which files name each other.
    with (
        _ended_by_sigterm(),
        tempfile.TemporaryDirectory(prefix=".export-", dir=out.parent) as folder,
    ):
        path = Path(folder) / out.name
        tell(f"Writing {to}")
        write(program, path, description)
        del program
        run, runtime = load(path)
        tell(f"Comparing at {len(sizes)} sizes")
        comparison = compare(
            network, run, runtime=runtime, sizes=sizes, from_pixels=description.normalises
        )
        if not comparison.is_within:
            raise MismatchError(
                f"the exported network must be within {TOLERANCE:g} of the largest value at all "
                "sizes, and is not (see the table); nothing was written",
                comparison,
            )
        del run
        beside = sorted(file.name for file in Path(folder).iterdir() if file.name != out.name)
        for name in (*beside, out.name):  # what is loaded last, when all that it needs is there
            os.replace(Path(folder) / name, out.parent / name)
    return Exported((out, *(out.parent / name for name in beside)), comparison)


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, as clusters stop jobs, be an exit that deletes what is half written."""
    if threading.current_thread() is not threading.main_thread():  # where Python hears none
        yield
        return

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(
    out: Path,
    to: str,
    opset: int | None,
    image_size: tuple[int, int] | None,
    *,
    force: bool,
) -> None:
    """Refuse, before any work, what cannot come to an end."""
    if to not in TARGETS:
        raise ExportError(f"the format is one of {', '.join(TARGETS)}, got {to!r}")
    if out.suffix != SUFFIXES[to]:
        raise ExportError(f"a file of {to} ends in {SUFFIXES[to]}, got {out.name}")
    if opset is not None:
        if to != "onnx":
            raise ExportError(f"--opset is ONNX's; leave it out for {to}")
        to_onnx.check_opset(opset)
    for package in NEEDS[to]:
        require(package, extra="openvino" if package == "openvino" else "export")
    if image_size is not None and min(image_size) < 1:
        raise ExportError(f"a picture has 1x1 px at least, got {image_size[0]}x{image_size[1]}")
    if not out.parent.is_dir():
        raise ExportError(f"there is no folder {out.parent} for {out.name}: make it first")
    if not os.access(out.parent, os.W_OK):
        raise ExportError(f"nothing can be written into {out.parent}: name another place")
    beside = {"openvino": [out.with_suffix(".bin")], "onnx": [out.with_name(f"{out.name}.data")]}
    files = [out, *beside.get(to, ())]
    if odd := [str(file) for file in files if file.exists() and not file.is_file()]:
        raise ExportError(f"{odd[0]} is a folder or a device, not a file: name another")
    there = [str(file) for file in files if file.exists()]
    if there and not force:
        raise ExportError(f"{' and '.join(there)} is there already. Name another, or pass --force")
