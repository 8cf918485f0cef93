"""What predictions are worth, whatever the task: classes, confusions, pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BACKGROUND = "background"
OTHERS = "other classes"


@dataclass(frozen=True)
class Table:
    """Figures by class.

    Attributes:
        title: what was measured.
        columns: names of the figures.
        rows: name of the class and its figures, `nan` where there is none.
        mean: the figures of the whole, as the benchmark averages them.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    mean: tuple[float, ...]

    @property
    def measured(self) -> tuple[tuple[str, tuple[float, ...]], ...]:
        """The rows with a figure; a class that nowhere occurs has none."""
        return tuple(row for row in self.rows if not math.isnan(row[1][0]))

    @property
    def absent(self) -> tuple[str, ...]:
        """The classes without a figure."""
        return tuple(name for name, figures in self.rows if math.isnan(figures[0]))


@dataclass(frozen=True)
class Confusion:
    """How often what was of one class was found as another.

    Attributes:
        names: of rows (truth) and columns (prediction).
        counts: objects or pixels, (names, names).
        unit: `objects` or `pixels`.
        background: whether the last name stands for nothing there, or nothing found.
    """

    names: tuple[str, ...]
    counts: np.ndarray
    unit: str
    background: bool

    @property
    def shares(self) -> np.ndarray:
        """Counts by those of the row, (names, names); 0 in a row without any."""
        totals = self.counts.sum(1, keepdims=True)
        return self.counts / np.maximum(totals, 1)

    def ranked(self) -> list[int]:
        """List the labels that occur, the most frequent in the truth first."""
        classes = len(self.names) - self.background
        truth, found = self.counts[:classes].sum(1), self.counts[:, :classes].sum(0)
        occurring = np.flatnonzero(truth + found)
        return [int(label) for label in sorted(occurring, key=lambda one: -truth[one])]

    def largest(self, most: int) -> Confusion:
        """Keep the classes with the most truth; the rest becomes one row and one column.

        Args:
            most: classes to keep, the background not counted; those that neither are in the data
                nor were found are left out in any case.
        """
        classes = len(self.names) - self.background
        ranked = self.ranked()
        if len(ranked) <= most:
            kept = [*np.sort(ranked), *range(classes, len(self.names))]
            names = tuple(self.names[label] for label in kept)
            return Confusion(names, self.counts[np.ix_(kept, kept)], self.unit, self.background)
        kept = np.sort(ranked[:most])
        place = np.full(len(self.names), most)
        place[kept] = np.arange(most)
        names = [*(self.names[label] for label in kept), OTHERS]
        if self.background:
            place[-1] = most + 1
            names.append(self.names[-1])
        counts = np.zeros((len(names), len(names)), self.counts.dtype)
        np.add.at(counts, (place[:, None], place[None]), self.counts)
        return Confusion(tuple(names), counts, self.unit, self.background)

    def strongest(self, most: int) -> list[tuple[str, str, int, float]]:
        """List the most frequent confusions of two classes: truth, prediction, count, share."""
        classes = len(self.names) - self.background
        off = self.counts[:classes, :classes].copy()
        np.fill_diagonal(off, 0)
        ranked = np.argsort(-off, axis=None, kind="stable")[:most]
        pairs = [divmod(int(flat), classes) for flat in ranked]
        return [
            (self.names[row], self.names[column], int(off[row, column]), self.shares[row, column])
            for row, column in pairs
            if off[row, column]
        ]


@dataclass(frozen=True)
class Graded:
    """How well one picture was done.

    Attributes:
        image: number or path, as predictions name it.
        measure: 0 to 1.
        content: how much there was to find, to rank pictures of one measure.
    """

    image: int | str
    measure: float
    content: float


@dataclass(frozen=True)
class Judgement:
    """All that is known of a set of predictions.

    Attributes:
        tables: by class.
        confusion: of classes.
        graded: every picture that has something to measure.
        measure: what `graded` measures, as a sentence has it.
        rules: how the confusion was counted, as a sentence.
    """

    tables: tuple[Table, ...]
    confusion: Confusion
    graded: tuple[Graded, ...]
    measure: str
    rules: str


def choose(graded: Sequence[Graded], count: int) -> list[tuple[str, Graded]]:
    """Choose the worst, the best and random pictures, a third each, no picture twice.

    Where a third is not whole the worst come first. Of pictures equally bad, or equally good, those
    come first in which there was more to find. The random ones are the same each time.

    Args:
        graded: all pictures.
        count: how many to choose, if there are so many.

    Returns:
        Why (`worst`, `best`, `random`) and what.
    """
    count = min(count, len(graded))
    worst, best = math.ceil(count / 3), math.ceil((count - 1) / 3)
    up = sorted(graded, key=lambda one: (one.measure, -one.content, str(one.image)))
    low = up[:worst]
    rest = up[worst:]
    high = sorted(rest, key=lambda one: (-one.measure, -one.content, str(one.image)))[:best]
    taken = {one.image for one in high}
    left = [one for one in rest if one.image not in taken]
    drawn = np.random.default_rng(0).permutation(len(left))[: count - len(low) - len(high)]
    return [
        *(("worst", one) for one in low),
        *(("best", one) for one in high),
        *(("random", left[number]) for number in sorted(drawn)),
    ]
