"""Who takes part in a cell, and how each is built."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path

import torch

from bench.cells import EAGER, Cell
from bench.export import ask_for_export
from bench.networks import (
    Entrant,
    State,
    build_mmdet,
    build_ours,
    draw_weights,
    prepared,
)
from swin_mm.backbones.compile import Compiled

OURS = "swin_mm"
WITH_CP = " with_cp"


def participants(cell: Cell) -> dict[str, str]:
    """Name who takes part, ours first, and what each is.

    A network that recomputes stands beside one that does not, which is faster and larger, and
    beside one that does.
    """
    if cell.compiled:
        return {OURS: f"{OURS} compiled", EAGER: OURS}
    if cell.task == "training with_cp":
        return {
            OURS: OURS + WITH_CP,
            cell.peer: cell.peer,
            cell.peer + WITH_CP: cell.peer + WITH_CP,
        }
    return {OURS: OURS, cell.peer: cell.peer}


@dataclass
class Exports:
    """ONNX files of MMDetection's backbone, made when first asked for.

    Attributes:
        folder: where they are.
    """

    folder: Path
    made: dict[tuple[str, str], Path] = field(default_factory=dict)

    def file(self, cell: Cell) -> Path:
        """Return the file for a network's size and an input, with the weights of all networks."""
        key = cell.variant, cell.case
        if key not in self.made:
            file = self.folder / f"{cell.variant} {cell.case}.onnx"
            state = draw_weights(build_ours(cell.variant)).state_dict()
            ask_for_export(state, cell.variant, cell.shape, file)
            self.made[key] = file
        return self.made[key]


def enter(
    what: str,
    cell: Cell,
    *,
    state: State | None = None,
    exports: Exports | None = None,
    threads: int = 2,
) -> Entrant:
    """Build a network of :func:`participants`, in the cell's mode and precision.

    Args:
        what: network, with what it does besides.
        cell: says the rest.
        state: weights; ``None`` draws those that all networks have.
        exports: where ONNX files are.
        threads: of runtimes with pools of their own.
    """
    name = what.removesuffix(WITH_CP)
    with_cp = what != name
    if state is None:
        state = draw_weights(build_ours(cell.variant)).state_dict()
    if name.startswith(OURS):
        net = build_ours(cell.variant, with_cp=with_cp, peer=cell.peer)
        net.load_state_dict(state)
        found = Entrant(net, net)
    elif name == "mmdet":
        net = build_mmdet(cell.variant, state, with_cp=with_cp)
        found = Entrant(net, net)
    else:
        found = _enter_other(name, cell, state, exports, threads)
    if found.module is not None:
        prepared(found.module, cell.precision, training=cell.trains)
    if what == f"{OURS} compiled":
        torch._dynamo.reset()  # its time to compile is measured
        found.module.compiled = Compiled({"dynamic": True, "fullgraph": True})
    return found


def _enter_other(
    name: str, cell: Cell, state: State, exports: Exports | None, threads: int
) -> Entrant:
    from bench import peers, runtimes  # here: what they import is not everywhere

    state = copy.copy(state)
    if name == "timm":
        return peers.enter_timm(cell.variant, state, cell.shape[1:])
    if name == "torchvision":
        return peers.enter_torchvision(cell.variant, state)
    if name == "huggingface":
        return peers.enter_huggingface(cell.variant, state)
    if exports is None:
        raise ValueError(f"{name} runs an exported network, and there is no place for exports")
    if name == "openvino":
        return runtimes.enter_openvino(exports.file(cell), cell.precision, threads)
    return runtimes.enter_onnxruntime(exports.file(cell), threads)
