"""What is measured: a cell is one task, precision, network size, input and peer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_COMPILED_TASKS = ("inference compiled", "training compiled")
TASKS = ("inference", "training", "training with_cp", *_COMPILED_TASKS)
PRECISIONS = ("fp32", "bf16 autocast", "bf16")
VARIANTS = ("tiny", "base", "large")
PEERS = ("mmdet", "timm", "torchvision", "huggingface", "openvino", "onnxruntime")
SIZES = ("800x1344 b1", "512x512 b2", "224x224 b8")
AREAS = ("256x256 b1", "512x512 b1", "1024x1024 b1", "2048x2048 b1")
BATCHES = ("224x224 b1", "224x224 b2", "224x224 b4", "224x224 b8")

EAGER = "eager"
"""Who stands beside the compiled network: ourselves."""


@dataclass(frozen=True)
class Cell:
    """One measurement.

    Attributes:
        task: one of :data:`TASKS`.
        precision: one of :data:`PRECISIONS`; ``bf16`` is a network whose parameters are.
        variant: one of :data:`VARIANTS`.
        case: height, width, px, and pictures, as ``'800x1344 b1'``.
        peer: one of :data:`PEERS`, or :data:`EAGER`.
    """

    task: str
    precision: str
    variant: str
    case: str
    peer: str

    @property
    def shape(self) -> tuple[int, int, int]:
        """Pictures, height and width, px."""
        height, width, pictures = map(int, re.findall(r"\d+", self.case))
        return pictures, height, width

    @property
    def trains(self) -> bool:
        return self.task.startswith("training")

    @property
    def compiled(self) -> bool:
        return self.task in _COMPILED_TASKS

    def __str__(self) -> str:
        return f"{self.task}, {self.precision}, {self.variant}, {self.case}, {self.peer}"


def as_case(words: str) -> str:
    """Read ``'800x1344b1'`` or ``'800x1344 b1'``.

    Raises:
        ValueError: if it is neither.
    """
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*) ?b([1-9]\d*)", words)
    if found is None:
        raise ValueError(f"a case is height x width b pictures, as 800x1344b1; got {words!r}")
    return "{}x{} b{}".format(*found.groups())


@dataclass(frozen=True)
class Part:
    """All combinations of some tasks, precisions, network sizes and inputs."""

    tasks: Sequence[str] = ("inference", "training")
    precisions: Sequence[str] = PRECISIONS
    variants: Sequence[str] = ("tiny",)
    cases: Sequence[str] = SIZES

    def cells(self, peers: Sequence[str]) -> Iterator[Cell]:
        """Go through the cells; those of the compiled network stand beside ourselves alone."""
        every = (self.variants, self.tasks, self.precisions, self.cases)
        for variant, task, precision, case in itertools.product(*every):
            for peer in (EAGER,) if task in _COMPILED_TASKS else peers:
                yield Cell(task, precision, variant, case, peer)


_RECOMPUTING = Part(("training with_cp",), ("fp32", "bf16 autocast"), cases=SIZES[:2])
_GROWTH = Part(("inference",), ("fp32",), cases=(*AREAS, *BATCHES))
_COMPILED = Part(_COMPILED_TASKS, ("fp32", "bf16 autocast"), cases=SIZES[:2])
_LARGER = Part(precisions=("fp32", "bf16 autocast"), variants=("base", "large"), cases=SIZES[1:2])

PARTS = {
    "sizes": (Part(),),
    "recomputing": (_RECOMPUTING,),
    "growth": (_GROWTH,),
    "compiled": (_COMPILED,),
    "larger": (_LARGER,),
}
"""What is measured beside MMDetection's unless something else is asked for."""

PEER_PARTS = {
    "sizes": (
        Part(("inference",), ("fp32", "bf16 autocast")),
        Part(("training",), ("fp32", "bf16 autocast")),
    )
}
"""What is measured beside all others unless something else is asked for."""


def limit(cell: Cell) -> str:
    """Say why a peer cannot do a cell; empty if it can try."""
    if cell.peer in ("openvino", "onnxruntime"):
        if cell.trains:
            return f"{cell.peer} does not train"
        if cell.peer == "onnxruntime" and cell.precision != "fp32":
            return "onnxruntime has no bf16 kernels for the CPU"
        if cell.precision == "bf16":
            return "OpenVINO takes bf16 as a hint: see bf16 autocast"
    if cell.task == "training with_cp" and cell.peer != "mmdet":
        return "recomputing is compared with MMDetection's alone"
    return ""
