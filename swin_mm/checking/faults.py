"""What a check found against the rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from swin_mm.checking.rules import RULES, Level, Rule

KEPT = 1000  # faults of a rule that are kept with their names; beyond, they are counted
TOLERATED = 1000  # one lost record of so many is a note


@dataclass(frozen=True)
class Fault:
    """One rule broken by one record.

    Attributes:
        rule: its name in `RULES`.
        file: the file that the record, or the pixels, are in.
        record: which of the file's records, by id; empty for the whole file.
        met: the numbers that broke the rule.
    """

    rule: str
    file: str
    record: str
    met: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.file, self.record, self.met)))


@dataclass(frozen=True)
class Group:
    """The faults against one rule in one data set.

    Attributes:
        rule: the rule.
        level: `ERROR` or `NOTE`, by the rule and how many records broke it.
        count: how many did.
        first: `KEPT` of them at most.
    """

    rule: Rule
    level: Level
    count: int
    first: tuple[Fault, ...]


@dataclass
class Findings:
    """What was found in one data set.

    Attributes:
        splits: where the config uses it, `train`, `val`, `test`.
        name: its annotation file, or its folder of pictures.
        pictures: how many it has.
        looked_at: how many of them were opened.
        annotations: how many it has, nothing for label pictures.
    """

    splits: tuple[str, ...]
    name: str
    pictures: int = 0
    looked_at: int = 0
    annotations: int = 0
    _kept: dict[str, list[Fault]] = field(default_factory=dict)
    _counts: Counter = field(default_factory=Counter)

    def add(self, *faults: Fault) -> None:
        """Count faults, and keep the first of each rule."""
        for fault in faults:
            self._counts[fault.rule] += 1
            kept = self._kept.setdefault(fault.rule, [])
            if len(kept) < KEPT:
                kept.append(fault)

    def groups(self) -> list[Group]:
        """Group the faults by rule, errors first, in the order of the table."""
        groups = []
        for name, rule in RULES.items():
            if count := self._counts[name]:
                level = rule.level
                if level is Level.LOSS:
                    few = count * TOLERATED <= self.annotations
                    level = Level.NOTE if few else Level.ERROR
                groups.append(Group(rule, level, count, tuple(self._kept[name])))
        return sorted(groups, key=lambda group: group.level is not Level.ERROR)

    @property
    def errors(self) -> int:
        """How many faults are errors."""
        return sum(group.count for group in self.groups() if group.level is Level.ERROR)

    @property
    def notes(self) -> int:
        """How many faults are notes."""
        return sum(group.count for group in self.groups() if group.level is Level.NOTE)


class DataError(Exception):
    """Data cannot be checked or must not be trained on; the message says why and the cure."""
