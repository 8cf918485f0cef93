"""What is looked at, and how much of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from swin_mm.checking.faults import Findings
from swin_mm.checking.labels import Meaning


@dataclass(frozen=True)
class Task:
    """One picture to look at.

    Attributes:
        path: where it lies.
        record: which record it is of the annotation file.
        size: width and height for which its annotations were made, px.
        masks: of each instance, the annotation's id and the segmentation.
        label: its label picture.
    """

    path: str
    record: str = ""
    size: tuple[int, int] | None = None
    masks: Sequence[tuple[Any, Any]] = ()
    label: str | None = None


@dataclass(frozen=True)
class Wishes:
    """How much of a data set is looked at.

    Attributes:
        sample: pictures drawn of each data set; all by default.
        seed: of the draw.
    """

    sample: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Survey:
    """A data set whose records have been checked.

    Attributes:
        findings: what was found.
        tasks: the pictures to look at.
        meaning: of its label pictures.
    """

    findings: Findings
    tasks: list[Task] = field(default_factory=list)
    meaning: Meaning | None = None


def draw(things: list, wishes: Wishes) -> list:
    """Draw as many of many as are wished, in their order; all of a few."""
    if wishes.sample is None or wishes.sample >= len(things):
        return things
    places = random.Random(wishes.seed).sample(range(len(things)), wishes.sample)
    return [things[place] for place in sorted(places)]
