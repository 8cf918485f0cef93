"""A layout is a table: their names, our names, and what happens to each tensor, both ways."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from torch import Tensor

# What a field in braces stands for: the numbers of a stage, a block and an output, and the two
# tensors of a layer. {last}, the number of the last stage, is filled in before.
_FIELDS = {"i": r"\d+", "j": r"\d+", "k": r"\d+", "t": "weight|bias"}


@dataclass(frozen=True)
class TensorRule:
    """What happens to a tensor on its way, exactly undone on its way back.

    Attributes:
        name: how the load report calls it.
        to_ours: their tensor to ours.
        to_theirs: our tensor to theirs.
    """

    name: str
    to_ours: Callable[[Tensor], Tensor]
    to_theirs: Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Row:
    """One kind of tensor in a layout.

    Attributes:
        theirs: its name there, with fields in braces.
        ours: its name here, with the same fields.
        tensor: what happens to it; ``None`` where it stays as it is.
        writes: False for a second spelling that is read but never written.
    """

    theirs: str
    ours: str
    tensor: TensorRule | None = None
    writes: bool = True


@dataclass(frozen=True)
class Layout:
    """How one family of files names and orders a Swin's tensors.

    All names are those behind the prefix that a detector or a wrapper puts before them.

    Attributes:
        name: what ``layout=`` and reports call it.
        rows: the table.
        signature: a name that every file of the family holds; what precedes it is the prefix.
        needs: names one of which must be there too, if any are given.
        forbids: names of neighbouring families, none of which may be there.
        ignores: names of harmless leftovers, as regular expressions.
    """

    name: str
    rows: tuple[Row, ...]
    signature: str
    needs: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a tensor goes: its new name, and the row that says so."""

    name: str
    row: Row


def place_in_ours(layout: Layout, key: str, last: int) -> Place | None:
    """Find our name for one of theirs, or None if the table has no row for it.

    Args:
        layout: the table.
        key: their name, without prefix.
        last: number of the network's last stage, counted from 0.
    """
    for row in layout.rows:
        if name := _rename(key, row.theirs, row.ours, last):
            return Place(name, row)
    return None


def place_in_theirs(layout: Layout, name: str, last: int) -> Place | None:
    """Find their name for one of ours, or None if the layout cannot hold it."""
    for row in layout.rows:
        if row.writes and (key := _rename(name, row.ours, row.theirs, last)):
            return Place(key, row)
    return None


def matches(pattern: str, key: str, last: int) -> bool:
    """Say whether a name has the form of a pattern with fields in braces."""
    return _compiled(pattern, last).fullmatch(key) is not None


def prefix_before(pattern: str, key: str) -> tuple[str, int] | None:
    """Find what precedes a pattern in a name, and the number of the stage it speaks of."""
    found = _compiled(pattern, 0, prefixed=True).fullmatch(key)
    return found and (found["prefix"], int(found["i"]))


def _rename(name: str, old: str, new: str, last: int) -> str | None:
    found = _compiled(old, last).fullmatch(name)
    return found and new.format(**found.groupdict(), last=last)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, last: int, *, prefixed: bool = False) -> re.Pattern[str]:
    """Make a regular expression of a pattern; ``{last}`` is a number that is known by then."""
    expression = re.escape(pattern.replace("{last}", str(last)))
    for field, values in _FIELDS.items():
        expression = expression.replace(rf"\{{{field}\}}", f"(?P<{field}>{values})")
    return re.compile(r"(?P<prefix>(?:[^.]+\.)*?)" + expression if prefixed else expression)
