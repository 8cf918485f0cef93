"""The file of results: every cell once, and the runs that measured them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench import floor, memory
from bench.cells import Cell
from swin_mm.ops.kernels import level, why_not

ROOT = Path(__file__).parents[2]
WHAT = {
    "what": "the backbone beside other Swins; seconds are medians of interleaved rounds",
    "ratios": "of medians; 'peer / swin_mm' above 1: the peer is slower",
    "floor": floor.WORDS,
    "memory": memory.WORDS,
    "dense outputs": "timm and torchvision return maps without output norms, (B, H, W, C), which "
    "the others' work includes; OpenVINO and onnxruntime run MMDetection's backbone, exported by "
    "torch at the very size, and 'bf16 autocast' is OpenVINO's inference precision bf16",
    "worst difference": "of outputs before timing, by the largest value; timm's where it need not "
    "pad, since it shifts before it pads",
}
_PACKAGES = (
    *("torch", "onedl-mmdetection", "mmdet", "timm", "torchvision", "transformers"),
    *("openvino", "onnxruntime"),
)
_FIELDS = ("task", "precision", "variant", "case", "peer")


class Results:
    """Cells by what they are, read from a file where there is one, written after each.

    Args:
        file: to read and write; ``None`` keeps them in memory.
        run: what is said of the run that adds cells now, see :func:`this_run`.
    """

    def __init__(self, file: Path | None, run: Mapping):
        self.file, self.run = file, dict(run)
        self.runs: list[dict] = []
        self.cells: dict[Cell, dict] = {}
        if file is not None and file.exists():
            report = json.loads(file.read_text(encoding="utf-8"))
            self.runs = report["runs"]
            self.cells = {cell_of(one): one for one in report["cells"]}

    def __contains__(self, cell: Cell) -> bool:
        return cell in self.cells

    def add(self, cell: Cell, found: Mapping) -> None:
        """Add a cell, or put it in the place of what was measured before; write the file."""
        if self.run not in self.runs:
            self.runs.append(self.run)
        self.cells[cell] = {**asdict(cell), "run": self.runs.index(self.run), **found}
        if self.file is not None:
            self.write(self.file)

    def write(self, file: Path) -> None:
        """Write beside and rename, so that a file is always whole; a line for each cell."""
        file.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({**WHAT, "runs": self.runs}, indent=1)
        lines = ",\n".join(f"  {json.dumps(one)}" for one in self.cells.values())
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        text = head.removesuffix("\n}") + f',\n "cells": [\n{lines}\n ]\n}}\n'
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)


def cell_of(entry: Mapping) -> Cell:
    """Say which cell an entry of the file is."""
    return Cell(*(entry[name] for name in _FIELDS))


def this_run(command: str, machine: str | None, threads: int) -> dict:
    """Say what a reader needs to know of a run."""
    return {
        "command": command,
        "commit": commit(),
        "machine": machine or this_machine(),
        "threads": threads,
        "kernels": level() or f"none: {why_not()}",
        "versions": {"python": platform.python_version(), **versions()},
    }


def versions() -> dict[str, str]:
    """Return the versions of all peers that are here, and torch's."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Return the commit, and whether the package differs from it."""
    try:
        head, changes = (
            subprocess.run(
                ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (
                ("rev-parse", "--short", "HEAD"),
                ("status", "--porcelain", "--", "swin_mm", "benchmarks/bench"),
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return "not known"
    return f"{head}, changed" if changes else head


def this_machine() -> str:
    """Return the processor's name and the number of its cores that this process may use."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
