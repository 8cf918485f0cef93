"""A layout is a table: their names, our names, and what happens to each tensor, both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from swin_mm.checkpoints.formats.patterns import Fields, fill, match


@dataclass(frozen=True)
class TensorRule:
    """What happens to the tensors of a row on their way, exactly undone on their way back.

    Attributes:
        name: how the load report calls it.
        wants: what their tensors must be, for the error if they are not.
        to_ours: their tensors to ours; takes and gives as many as the row names.
        to_theirs: our tensors to theirs.
    """

    name: str
    wants: str
    to_ours: Callable[..., Tensor | tuple[Tensor, ...]]
    to_theirs: Callable[..., Tensor | tuple[Tensor, ...]]


@dataclass(frozen=True)
class Row:
    """One kind of tensor in a layout.

    Attributes:
        theirs: its name there, with fields in braces; several where they keep in parts what is
            one tensor here.
        ours: its name here, with the same fields; several where we keep the parts.
        rule: what happens to it; ``None`` where it stays as it is.
        writes: False for a second spelling that is read but never written.
    """

    theirs: str | tuple[str, ...]
    ours: str | tuple[str, ...]
    rule: TensorRule | None = None
    writes: bool = True

    @property
    def their_names(self) -> tuple[str, ...]:
        """Its names there."""
        return (self.theirs,) if isinstance(self.theirs, str) else self.theirs

    @property
    def our_names(self) -> tuple[str, ...]:
        """Its names here."""
        return (self.ours,) if isinstance(self.ours, str) else self.ours


@dataclass(frozen=True)
class Layout:
    """How one family of files names and orders a Swin's tensors.

    All names are those behind the prefix that a detector or a wrapper puts before them.

    Attributes:
        name: what ``layout=`` and reports call the family.
        version: of the network, 1 or 2.
        rows: the table.
        signature: a name that every file of the family holds; what precedes it is the prefix.
        head: name of the classifier's linear layer, behind the prefix or what precedes its last
            part; ``None`` where the family has no classifiers.
        beside: rows of names behind what precedes the prefix's last part, for reading only; they
            go before those of the table.
        needs: names one of which must be there too, if any are given.
        forbids: names of neighbouring families, none of which may be there.
        ignores: names of harmless leftovers, as regular expressions.
        oblong: whether the family's networks can have oblong windows.
    """

    name: str
    version: int
    rows: tuple[Row, ...]
    signature: str
    head: str | None = None
    beside: tuple[Row, ...] = ()
    needs: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    oblong: bool = False


@dataclass(frozen=True)
class Place:
    """Where a tensor goes.

    Attributes:
        row: the line of the table that says so.
        fields: the numbers in its name.
        part: which of the row's names on its own side it has.
    """

    row: Row
    fields: tuple[tuple[str, str | int], ...]
    part: int


def place_in_ours(layout: Layout, key: str, last: int) -> Place | None:
    """Find the row for one of their names, or None if the table has none.

    Args:
        layout: the table.
        key: their name, without prefix.
        last: number of the network's last stage, counted from 0.
    """
    return _place(layout.rows, key, last)


def place_beside(layout: Layout, key: str, last: int) -> Place | None:
    """Find the row for one of their names that stands beside the backbone, or None."""
    return _place(layout.beside, key, last)


def _place(rows: tuple[Row, ...], key: str, last: int) -> Place | None:
    for row in rows:
        for part, pattern in enumerate(row.their_names):
            if (fields := match(pattern, key, last)) is not None:
                return Place(row, tuple(fields.items()), part)
    return None


def place_in_theirs(layout: Layout, name: str, last: int) -> Place | None:
    """Find the row for one of our names, or None if the layout cannot hold it."""
    for row in layout.rows:
        for part, pattern in enumerate(row.our_names if row.writes else ()):
            if (fields := match(pattern, name, last)) is not None:
                return Place(row, tuple(fields.items()), part)
    return None


def our_names(row: Row, fields: Fields, last: int) -> tuple[str, ...]:
    """Write our names of a row's tensors."""
    return tuple(fill(pattern, fields, last) for pattern in row.our_names)


def their_names(row: Row, fields: Fields, last: int) -> tuple[str, ...]:
    """Write their names of a row's tensors."""
    return tuple(fill(pattern, fields, last) for pattern in row.their_names)


def same(theirs: str, ours: str, *names: str) -> tuple[Row, ...]:
    """Make rows of names that are the same but for what stands before them."""
    return tuple(Row(f"{theirs}.{name}", f"{ours}.{name}") for name in names)
