"""Parity, time and memory of Swin backbones on one GPU, cell by cell within a budget of seconds.

benchmarks/gpu.sh runs it and says how to carry what a bare machine lacks. Cells come in the order
of what they are worth; each is written as soon as it is measured, and none begins that would not
end in time, by what one like it took. Weights are random: what is compared is time and memory.
Those of one cell take turns; half precision is autocast; a training step has no optimiser.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch
from gpu_contenders import PRECISIONS, SMALL, Job, first_line, in_turns, runner
from gpu_parity import attention_parity, kernels, network_parity

import swin_mm

SHAPES = ((2, 800, 1344), (8, 512, 512), (64, 224, 224))
PEERS = ("timm", "torchvision")
EVERYONE = ("auto", "reference", "triton", *PEERS)
Cell = tuple[str, str, Callable[[], dict]]
"""Name, kind (cells of a kind take about as long) and what measures it."""


def plan(device: str, *, small: bool) -> Iterator[Cell]:
    """List all cells, those of the most worth first."""
    for precision in PRECISIONS:
        measure = functools.partial(attention_parity, device, precision, small=small)
        yield f"parity of attention, {precision}", "parity", measure
    yield "parity of Swin-T", "parity", functools.partial(network_parity, device, small=small)
    yield "kernels", "parity", functools.partial(kernels, device, small=small)
    yield "report", "report", functools.partial(reports, device, small=small)
    shapes = ((1, 40, 56),) if small else SHAPES
    variants = ("small",) if small else ("tiny", "base", "large")
    for variant in variants:
        for shape in shapes:
            for precision in PRECISIONS:
                for task in ("inference", "training"):
                    job = Job(variant, shape, precision, task, device)
                    yield job.name, f"{variant} {task}", functools.partial(turns, job, EVERYONE)
        if variant == variants[0] and not small:
            yield from compiled(variant, shapes[0], device)


def compiled(variant: str, shape: tuple[int, int, int], device: str) -> Iterator[Cell]:
    """List the cells of torch's compiler, which is slow to begin with."""
    for task in ("inference", "training"):
        job = Job(variant, shape, "bf16", task, device)
        yield (
            f"compiled {job.name}",
            "compiled",
            functools.partial(turns, job, ("auto", "compiled")),
        )


def turns(job: Job, who: tuple[str, ...]) -> dict:
    """Let some contenders take turns, and say how each compares with ours.

    Returns:
        What :func:`in_turns` gives, with ``"by ours"``: time divided by that of ours.
    """
    runs, found = {}, {}
    for one in who:
        try:
            runs[one] = runner(one, job)
        except Exception as error:
            found[one] = {"error": first_line(error)}
    found |= in_turns(runs, job.device, seconds=0.0 if job.device == "cpu" else 1.5)
    ours = found["auto"].get("ms")
    for one in found.values():
        if ours and "ms" in one:
            one["by ours"] = round(one["ms"] / ours, 3)
    return found


def reports(device: str, *, small: bool) -> dict:
    """Say who computes attention in Swin-T, by precision and task."""
    net = swin_mm.SwinTransformer(**SMALL if small else {"variant": "tiny"})
    return {
        f"{name}, {'training' if training else 'inference'}": str(
            swin_mm.attention_report(
                net, device=device, dtype=dtype or torch.float32, training=training
            )
        ).splitlines()
        for name, dtype in PRECISIONS.items()
        for training in (False, True)
    }


def about(args: argparse.Namespace) -> dict:
    """Describe the run."""
    on_card = args.device != "cpu"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {
        "what": "Swin backbones on one GPU: parity, milliseconds, peak memory above what was there",
        "command": "benchmarks/gpu.sh " + " ".join(sys.argv[1:]),
        "commit": commit.stdout.strip() or os.environ.get("COMMIT", "not said"),
        "machine": args.machine or (torch.cuda.get_device_name() if on_card else "CPU, a dry run"),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "tf32": torch.backends.cuda.matmul.allow_tf32,
            **{name: _version(name) for name in ("triton", *PEERS)},
        },
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def write(path: Path, report: dict) -> None:
    """Write beside and rename, so that a run that is ended leaves a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(report, indent=1) + "\n")
    beside.replace(path)


def run(cells: Iterator[Cell], report: dict, *, out: Path, seconds: float, start: float) -> None:
    """Measure cell after cell while there is time, by the longest of the same kind so far."""
    longest: dict[str, float] = {}
    for name, kind, measure in cells:
        spent = time.perf_counter() - start
        if spent + 1.2 * longest.get(kind, 0.0) > seconds:
            report["cells"][name] = {"skipped": f"no time: {spent:.0f} of {seconds:.0f} s spent"}
        else:
            try:
                report["cells"][name] = measure()
            except Exception as error:
                report["cells"][name] = {"error": first_line(error)}
            took = time.perf_counter() - start - spent
            longest[kind] = max(longest.get(kind, 0.0), took)
            print(f"{spent:5.0f} s  {name}  ({took:.1f} s)", flush=True)
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        report["seconds"] = round(time.perf_counter() - start, 1)
        write(out, report)


def main() -> None:
    """Measure what there is time for."""
    start = time.perf_counter()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--small", action="store_true", help="toy sizes, to try the script")
    parser.add_argument("--seconds", type=float, default=460.0, help="when no new cell may end")
    parser.add_argument("--machine", default="", help="the machine, in words; the card's name")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/gpu.json"))
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("no GPU that torch can use; try the script with benchmarks/gpu.sh --dry-run")
    report = about(args) | {"cells": {}}
    cells = plan(args.device, small=args.small)
    run(cells, report, out=args.out, seconds=args.seconds, start=start)


if __name__ == "__main__":
    main()
