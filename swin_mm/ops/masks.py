"""Who may look at whom after a shift.

Rolling a map brings its opposite borders together, but only in the last row and in the last column
of windows (Liu et al. 2021, fig. 4); and padding lies in the last windows too. So a map of any size
falls into a few rectangles of windows, its *regions*, and all windows of a region share one mask
of (N, N): no mask per window is needed. While tracing, where a loop over regions would be unrolled
and guarded for every size, the same masks are written as one expression of the map's size.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from swin_mm.ops.windows import WindowPlan


@dataclass(frozen=True)
class Band:
    """Neighbouring rows (or columns) of windows that share what they mask along one axis.

    Attributes:
        start: first row of windows.
        stop: row of windows after the last.
        seam: tokens of a window, from its start, that lie before the border brought in by the
            roll; the whole window where there is no such border.
        real: tokens of a window that are part of the map, as [from, to) runs; ``None`` where all
            of them are, or where padding is not masked.
    """

    start: int
    stop: int
    seam: int
    real: tuple[tuple[int, int], ...] | None = None

    @property
    def count(self) -> int:
        """Rows (or columns) of windows in this band."""
        return self.stop - self.start


@dataclass(frozen=True)
class Region:
    """A rectangle of windows with one mask: where a band of rows meets a band of columns."""

    rows: Band
    columns: Band

    @property
    def kind(self) -> tuple:
        """All that its mask depends on: the same for maps of any size, unless padding is hidden."""
        return self.rows.seam, self.rows.real, self.columns.seam, self.columns.real

    def mask(self, window: tuple[int, int], device: torch.device) -> Tensor | None:
        """Say which tokens of a window may look at each other.

        Padding, where it is masked, is nobody's key but its own: a query among padding alone keeps
        one key, so that softmax and its gradient stay finite. What such a query finds is cropped.

        Returns:
            True where attention is allowed, (N, N), queries by keys; ``None`` where everything is.
        """
        sides = list(zip((self.rows, self.columns), window, strict=True))
        if all(band.seam == side and band.real is None for band, side in sides):
            return None
        below, beyond = (torch.arange(side, device=device) >= band.seam for band, side in sides)
        down = below[:, None].expand(window).flatten()  # (N,), past the horizontal seam
        across = beyond.expand(window).flatten()  # (N,), past the vertical seam
        # Exclusive or, since torch's compiler (2.13) cannot compare booleans for equality.
        allowed = ~((down[:, None] ^ down) | (across[:, None] ^ across))
        if self.rows.real is None and self.columns.real is None:
            return allowed
        in_rows, in_columns = (_inside(band.real, side, device) for band, side in sides)
        key = (in_rows[:, None] & in_columns).flatten()  # (N,)
        itself = torch.eye(len(key), dtype=torch.bool, device=device)
        return allowed & (key | itself)


def _inside(runs: tuple[tuple[int, int], ...] | None, side: int, device: torch.device) -> Tensor:
    """True at the positions that lie in one of the runs, (side,)."""
    position = torch.arange(side, device=device)
    # Not `full_like`, whose boolean TorchScript's tracer has no operator for.
    inside = (torch.ones_like if runs is None else torch.zeros_like)(position, dtype=torch.bool)
    for start, stop in runs or ():
        inside |= (position >= start) & (position < stop)
    return inside


def regions(plan: WindowPlan, *, mask_padding: bool = False) -> list[list[Region]]:
    """Divide the windows of a map into rectangles that share a mask.

    Args:
        plan: the map's windows.
        mask_padding: whether padded tokens are hidden from their windows. The published weights
            were trained with padding in sight, so the networks' default is False.

    Returns:
        Regions in reading order, a list of rows; together they tile the grid of windows.
    """
    rows, columns = (_bands(plan, axis, mask_padding=mask_padding) for axis in (0, 1))
    return [[Region(row, column) for column in columns] for row in rows]


def _bands(plan: WindowPlan, axis: int, *, mask_padding: bool) -> list[Band]:
    """Divide the windows along one axis: plain ones first, then those met by seam or padding.

    Padding is narrower than a window and rolled by less than one, so two windows meet it at most.
    """
    count, side, shift = plan.counts[axis], plan.window[axis], plan.shift[axis]
    padding = plan.padding[axis] if mask_padding else 0
    special = 2 if padding > side - shift else 1 if padding or shift else 0
    plain = max(count - special, 0)
    bands = [Band(0, plain, side)] if plain else []
    for index in range(plain, count):
        is_last = index == count - 1
        real = _real_runs(plan, axis, index) if padding else None
        bands.append(Band(index, index + 1, side - shift if is_last else side, real))
    return bands


def _real_runs(plan: WindowPlan, axis: int, index: int) -> tuple[tuple[int, int], ...]:
    """Which tokens of the index-th window along an axis are the map's own, as [from, to) runs."""
    tokens, side, shift = plan.size[axis], plan.window[axis], plan.shift[axis]
    first, padded = index * side, plan.padded_size[axis]
    wraps = min(max(padded - shift - first, 0), side)  # from here on, the map starts anew
    ahead = (0, min(max(tokens - shift - first, 0), wraps))
    behind_offset = first + shift - padded  # position 0 of the window, seen from the map's start
    behind = (wraps, min(max(tokens - behind_offset, wraps), side))
    return ahead, behind


def window_masks(plan: WindowPlan, device: torch.device, *, mask_padding: bool = False) -> Tensor:
    """Write the masks of all windows as one expression, for compilers and exporters.

    Equal to the regions' masks, window by window in reading order.

    Returns:
        True where attention is allowed, (nW, N, N), queries by keys.
    """
    sides, real = [], []
    for axis in (0, 1):
        tokens, side, shift = plan.size[axis], plan.window[axis], plan.shift[axis]
        padded = plan.padded_size[axis]
        position = torch.arange(padded, device=device)
        wrapped = (position >= padded - shift).long()
        sides.append(wrapped.view(-1, side))
        real.append((position + shift - wrapped * padded < tokens).view(-1, side))
    label = 2 * sides[0][:, None, :, None] + sides[1][None, :, None, :]  # (rows, columns, Mh, Mw)
    label = label.flatten(2).flatten(0, 1)  # (nW, N)
    allowed = label[:, :, None] == label[:, None, :]
    if not mask_padding:
        return allowed
    key = (real[0][:, None, :, None] & real[1][None, :, None, :]).flatten(2).flatten(0, 1)
    itself = torch.eye(key.shape[1], dtype=torch.bool, device=device)
    return allowed & (key[:, None, :] | itself)
