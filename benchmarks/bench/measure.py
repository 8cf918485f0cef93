"""Measure a cell: same weights, outputs compared first, then turn by turn, then memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from bench.cells import Cell, limit
from bench.entrants import OURS, WITH_CP, Exports, enter, participants
from bench.floor import products
from bench.memory import peak
from bench.networks import (
    Entrant,
    State,
    build_ours,
    draw_weights,
    in_precision,
    normalised,
    step,
    worst_difference,
)
from bench.timing import seconds_of, summed_up, take_turns

BOUNDS = {"fp32": 1e-4, "bf16 autocast": 0.1, "bf16": 0.1}
"""How far maps may be apart, of the largest value. Wrong weights are further apart than 0.1."""
AGREES = 224
"""Timm shifts before it pads: only multiples of these px, which it need not pad, come out equal."""
FLOOR = "floor"


class NotComparable(Exception):
    """A network that should compute the same does not, or cannot be built."""


@dataclass
class Settings:
    """How cells are measured.

    Attributes:
        seconds: rounds go on until this much has been measured.
        least: rounds, however long they take.
        threads: for everybody.
        exports: where ONNX files are.
        memory: whether to measure it.
        peaks: figures that several cells share, by what, mode, precision, size and input, MB.
    """

    seconds: float = 10.0
    least: int = 3
    threads: int = 2
    exports: Exports | None = None
    memory: bool = True
    peaks: dict[tuple, int] = field(default_factory=dict)


def measure_cell(cell: Cell, settings: Settings) -> dict:
    """Measure what the report holds of a cell."""
    unable = limit(cell)
    if unable:
        return {"why not": {cell.peer: unable}}
    state = draw_weights(build_ours(cell.variant)).state_dict()
    pictures, height, width = cell.shape
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(pictures, 3, height, width, generator=generator)
    x = in_precision(x, cell.precision)
    entrants, found = _enter_all(cell, state, x, settings)
    calls = {name: _call(entrant, cell, x) for name, entrant in entrants.items()}
    if cell.peer == "mmdet" and not cell.trains:
        whole = build_ours(cell.variant)
        inputs = x.bfloat16() if cell.precision != "fp32" else x
        calls[FLOOR] = products(whole.train(False), inputs)
        calls[FLOOR]()
        del whole
    times = take_turns(calls, seconds=settings.seconds, least=settings.least)
    found["seconds"] = {name: summed_up(taken) for name, taken in times.items()}
    found |= ratios({name: one["median"] for name, one in found["seconds"].items()}, cell.peer)
    del calls, entrants
    if settings.memory and not cell.compiled:
        found["peak MB"] = _peaks(cell, [name for name in times if name != FLOOR], settings)
        found |= memory_ratio(found["peak MB"], cell.peer)
    return found


def ratios(medians: Mapping[str, float], peer: str) -> dict[str, float]:
    """Divide times: more than 1 says that the peer is slower, and ours so much above the floor."""
    found = {}
    for name in (peer, peer + WITH_CP):
        if name in medians:
            found[f"{name} / {OURS}"] = round(medians[name] / medians[OURS], 3)
    if FLOOR in medians:
        found[f"{OURS} / {FLOOR}"] = round(medians[OURS] / medians[FLOOR], 3)
    return found


def memory_ratio(peaks: Mapping[str, int], peer: str) -> dict[str, float]:
    """Divide memory: less than 1 says that ours needs less."""
    if peer not in peaks:
        return {}
    return {f"memory {OURS} / {peer}": round(peaks[OURS] / peaks[peer], 3)}


def _call(entrant: Entrant, cell: Cell, x: Tensor) -> Callable[[], object]:
    return lambda: step(entrant, x, trains=cell.trains, precision=cell.precision)


def _enter_all(
    cell: Cell, state: State, x: Tensor, settings: Settings
) -> tuple[dict[str, Entrant], dict]:
    """Build everybody, run each once and compare; a peer that cannot is left out with its words."""
    entrants: dict[str, Entrant] = {}
    found: dict = {"worst difference": {}}
    ours: list[Tensor] = []
    for name, what in participants(cell).items():
        entrant = _build(what, cell, state, settings)
        maps: list[Tensor] = []
        try:
            took = seconds_of(lambda: maps.extend(_call(entrant, cell, x)()))  # noqa: B023
        except Exception as error:  # of any kind: the networks are not ours
            if name == OURS:
                raise
            said = str(error).strip().splitlines() or [""]
            found.setdefault("why not", {})[name] = f"{type(error).__name__}: {said[0]}"
            continue
        if name == OURS:
            ours = maps
            if cell.compiled:
                found["seconds to compile"] = round(took, 1)
        else:
            worst = _compare(cell, name, entrant, ours, maps, entrants[OURS], state)
            found["worst difference"][name] = float(f"{worst:.1e}")
        entrants[name] = entrant
    return entrants, found


def _build(what: str, cell: Cell, state: State, settings: Settings) -> Entrant:
    try:
        return enter(what, cell, state=state, exports=settings.exports, threads=settings.threads)
    except Exception as error:
        raise NotComparable(f"{cell}: {what} cannot be built: {error}") from error


def _compare(
    cell: Cell,
    name: str,
    entrant: Entrant,
    ours: list[Tensor],
    maps: list[Tensor],
    us: Entrant,
    state: State,
) -> float:
    """Return the largest difference of two networks.

    Raises:
        NotComparable: if it is larger than the precision accounts for.
    """
    bound = BOUNDS[cell.precision]
    if name == "timm" and any(side % AGREES for side in cell.shape[1:]):
        # Where it computes something else, its weights are compared on a picture that it does not.
        agreeing = replace(cell, task="inference", precision="fp32", case=f"{AGREES}x{AGREES} b1")
        x = torch.randn(1, 3, AGREES, AGREES)
        us, entrant = (enter(one, agreeing, state=state) for one in (OURS, name))
        ours, maps = (step(one, x, trains=False, precision="fp32") for one in (us, entrant))
        bound = BOUNDS["fp32"]
    worst = worst_difference(ours, normalised(maps, us.module) if entrant.bare else maps)
    if not worst <= bound:
        raise NotComparable(
            f"{cell}: the maps of {OURS} and {name} must be within {bound} of the largest value "
            f"with the same weights, and are {worst:.1e} apart"
        )
    return worst


def _peaks(cell: Cell, names: list[str], settings: Settings) -> dict[str, int]:
    found = {}
    for name in names:
        what = participants(cell)[name]
        key = what, cell.trains, cell.precision, cell.variant, cell.case
        if key not in settings.peaks:
            settings.peaks[key] = peak(
                what, cell, exports=settings.exports, threads=settings.threads
            )
        found[name] = settings.peaks[key]
    return found


def compile_from_scratch(folder: str) -> None:
    """Let torch's compiler find nothing from before, so that its time is the whole time."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    torch._dynamo.reset()
