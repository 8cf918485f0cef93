"""Let networks take turns, and sum up what they took."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

_BREATH = 0.02
"""Seconds between calls: the idle threads of one runtime spin into the turn of the next."""


def turn_order(names: Sequence[str], turn: int) -> list[str]:
    """Say who comes first in a round: each in turn, so that nobody always follows the same."""
    first = turn % len(names)
    return [*names[first:], *names[:first]]


def seconds_of(call: Callable[[], object]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def take_turns(
    calls: Mapping[str, Callable[[], object]],
    *,
    seconds: float,
    least: int = 3,
    most: int = 30,
    stopwatch: Callable[[Callable[[], object]], float] = seconds_of,
) -> dict[str, list[float]]:
    """Time calls round by round.

    Args:
        calls: by name, warmed up.
        seconds: rounds go on until this much has been measured.
        least: rounds, however long they take.
        most: rounds, however short.
        stopwatch: times a call.

    Returns:
        Seconds of every round, by name.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    spent, turn = 0.0, 0
    while turn < least or (spent < seconds and turn < most):
        for name in turn_order(list(calls), turn):
            time.sleep(_BREATH)
            took = stopwatch(calls[name])
            times[name].append(took)
            spent += took
        turn += 1
    return times


def summed_up(times: Sequence[float]) -> dict[str, float | int]:
    """The middle and both ends, s."""
    figures = {"median": statistics.median(times), "min": min(times), "max": max(times)}
    return {name: round(value, 4) for name, value in figures.items()} | {"rounds": len(times)}
