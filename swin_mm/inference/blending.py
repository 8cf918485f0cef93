"""Pixel scores of tiles, blended into the labels of a picture without ever holding them all.

Where two tiles share rows or columns, each counts the less the nearer its own border is: weights
fall in a straight line and sum up to one. A place is labelled when its last tile has come; what is
held until then is the overlap with the tile to the right and the row of tiles below.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from swin_mm.inference.pixel_scores import PixelScores, bands
from swin_mm.inference.tiles import Grid, Span, Tile

# What waits for the next tile waits in half precision: off by a thousandth, half the memory.
_MOST = torch.finfo(torch.float16).max


class Blender:
    """Takes the tiles of a picture, row by row and from the left, and labels its pixels.

    Args:
        grid: the tiles.
        decide: turns scores (C, rows, columns) into labels (rows, columns) on the CPU.
        dtype: of labels.

    Attributes:
        labels: (H, W), complete when every tile has been added.
    """

    def __init__(
        self, grid: Grid, decide: Callable[[Tensor], np.ndarray], *, dtype: type[np.integer]
    ) -> None:
        self._grid = grid
        self._decide = decide
        self.labels = np.zeros((grid.height, grid.width), dtype)
        self._beside: Tensor | None = None  # (C, rows of the tile, overlap)
        self._above: dict[int, Tensor] = {}  # by first column: (C, overlap, columns)

    @torch.no_grad()
    def add(self, tile: Tile, scores: PixelScores) -> None:
        """Add a tile.

        Args:
            tile: the next.
            scores: of its pixels.
        """
        grid, overlap = self._grid, self._grid.overlap
        rows, columns = tile.rows, tile.columns
        first, last = columns.own_start, columns.stop == grid.width
        done = columns.stop if last else columns.stop - overlap  # columns complete with this tile
        shared, ends = rows.own_start > 0, rows.stop == grid.height
        upper = rows.own_start + overlap if shared else rows.own_start
        lower = rows.stop if ends else rows.stop - overlap
        above = self._above.pop(first, None)
        below: list[Tensor] = []
        beside: list[Tensor] = []
        down, across = _weights(rows, grid.height, overlap), _weights(columns, grid.width, overlap)
        for start, stop in _in_bands(rows.own_start, upper, lower, rows.stop, scores):
            part = scores.rows(start - rows.start, stop - rows.start).float()
            part = part[:, :, first - columns.start :]
            here = slice(start - rows.own_start, stop - rows.own_start)
            if first > 0:  # weights are 1 elsewhere, which saves a pass over all scores
                part[:, :, :overlap] *= across[:overlap].to(part.device)
            if not last:
                part[:, :, -overlap:] *= across[-overlap:].to(part.device)
            if start < upper or stop > lower:
                part *= down[here, None].to(part.device)
            if self._beside is not None:
                part[:, :, :overlap] += self._beside[:, here].to(part)
            if not last:
                beside.append(_waiting(part[:, :, done - first :]))
                part = part[:, :, : done - first]
            if above is not None and start < upper:
                part += above[:, here].to(part)
            if stop <= lower:
                self.labels[start:stop, first:done] = self._decide(part)
            else:
                below.append(_waiting(part))
        self._beside = torch.cat(beside, 1) if beside else None
        if below:
            self._above[first] = torch.cat(below, 1)


def label(
    scores: PixelScores, decide: Callable[[Tensor], np.ndarray], *, dtype: type[np.integer]
) -> np.ndarray:
    """Label a picture that was looked at whole, (H, W)."""
    labels = np.zeros((scores.height, scores.width), dtype)
    with torch.no_grad():
        for top, bottom in bands(0, scores.height, row=scores.classes * scores.width):
            labels[top:bottom] = decide(scores.rows(top, bottom))
    return labels


def _in_bands(
    start: int, upper: int, lower: int, stop: int, scores: PixelScores
) -> list[tuple[int, int]]:
    """Divide a tile's rows into bands none of which crosses `upper` or `lower`."""
    row = scores.classes * scores.width
    parts = ((start, upper), (upper, lower), (lower, stop))
    return [band for top, bottom in parts for band in bands(top, bottom, row=row)]


def _weights(span: Span, length: int, overlap: int) -> Tensor:
    """The weight of each row or column that counts: 1, but falling towards neighbours."""
    weights = torch.ones(span.stop - span.own_start)
    ramp = torch.arange(1, overlap + 1) / (overlap + 1)
    if span.own_start > 0:
        weights[:overlap] = ramp
    if span.stop < length:
        weights[-overlap:] = 1 - ramp
    return weights


def _waiting(scores: Tensor) -> Tensor:
    return scores.clamp(-_MOST, _MOST).to("cpu", torch.float16)
