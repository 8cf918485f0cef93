"""Where the tiles of a large picture lie, and which part of each counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """The rows, or the columns, of a tile, px of the picture.

    Attributes:
        start: of what the network sees.
        stop: of what it sees, one past the last.
        own_start: of what counts: the last tile is moved back until it is full, and leaves to its
            neighbour what that has seen already. The first `overlap` px from here on are shared
            with the tile before, unless this is the first.
    """

    start: int
    stop: int
    own_start: int


@dataclass(frozen=True)
class Tile:
    """A part of a picture that the network looks at by itself."""

    rows: Span
    columns: Span

    @property
    def corners(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom, px of the picture."""
        return self.columns.start, self.rows.start, self.columns.stop, self.rows.stop


@dataclass(frozen=True)
class Grid:
    """The tiles of a picture.

    Args:
        height: of the picture, px.
        width: of the picture, px.
        tile: side of a tile, px; a shorter side of the picture is one tile.
        overlap: px that neighbours share at least, half a tile at most.
    """

    height: int
    width: int
    tile: int
    overlap: int

    @property
    def rows(self) -> list[Span]:
        """Rows of tiles from the top."""
        return spans(self.height, self.tile, self.overlap)

    @property
    def columns(self) -> list[Span]:
        """Columns of tiles from the left."""
        return spans(self.width, self.tile, self.overlap)

    def __len__(self) -> int:
        """How many tiles there are."""
        return len(self.rows) * len(self.columns)


def spans(length: int, tile: int, overlap: int) -> list[Span]:
    """Lay tiles along one side of a picture.

    Tiles follow each other at `tile - overlap` px, the last ends where the picture does. At most
    two of them count at any place.
    """
    if length <= tile:
        return [Span(0, length, 0)]
    step = tile - overlap
    starts = [number * step for number in range(-(-(length - overlap) // step) - 1)]
    regular = [Span(start, start + tile, start) for start in starts]
    return [*regular, Span(length - tile, length, regular[-1].stop - overlap)]
