"""The masks of a shifted map: who may look at whom, kind by kind of window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.ops import Region, WindowPlan
from swin_mm.visualization.canvas import grid, kinds_of
from swin_mm.visualization.style import (
    GRAY,
    INK,
    PALE,
    PAPER,
    Kind,
    badge,
    bare,
    blank_figure,
    letter_at,
    panel_at,
)

_COLUMNS, _CELL = 4, 350  # masks side by side, and px for each
_LEFT, _GAP, _ABOVE, _BELOW = 30, 32, 196, 34  # px around a mask


def draw_masks(plan: WindowPlan, *, mask_padding: bool = False) -> Figure:
    """Draw the masks of a plan, each under a window of its kind (Liu et al. 2021, fig. 4).

    Tokens are numbered in reading order, from the window's top left; row i of a mask says in
    colour which keys the query i may look at. Sides of a seam are lettered as the pieces of
    :func:`draw_windows`, "-" for the tokens that were there before the roll.

    Args:
        plan: the windows of a map; one with several windows each way and a shift has four kinds.
        mask_padding: whether padding is hidden, which makes kinds of their own of the windows that
            it reaches; it is hatched.
    """
    kinds = list(kinds_of(plan, mask_padding=mask_padding))
    figure, panels = _panels(len(kinds))
    large = 14 if len(kinds) <= _COLUMNS else 12  # the corner, last, has the shortest name
    for axes, (kind, region) in zip(panels, kinds, strict=True):
        _draw_mask(axes, kind, region, plan.window)
        window = axes.inset_axes((0, 1.1, 0.46, 0.46))
        _draw_window(window, kind, region, plan.window)
        allowed = _mask_of(region, plan.window)
        where = axes.transAxes
        axes.text(
            0.52,
            1.47,
            kind.name,
            fontsize=large,
            fontweight="bold",
            color=INK,
            transform=where,
        )
        axes.text(
            0.52,
            1.42,
            f"{_sides(region, plan.window)}\n{allowed.mean():.0%} of pairs",
            fontsize=11.5,
            color=GRAY,
            transform=where,
            va="top",
            linespacing=1.45,
        )
    for axes in panels[::_COLUMNS]:
        axes.set_ylabel("query", fontsize=13, color=GRAY, labelpad=6)
    for axes in panels:
        axes.set_xlabel("key", fontsize=13, color=GRAY, labelpad=6)
    return figure


def _mask_of(region: Region, window: tuple[int, int]) -> np.ndarray:
    """True where attention is allowed, (N, N)."""
    tokens = window[0] * window[1]
    mask = region.mask(window, torch.device("cpu"))
    return np.ones((tokens, tokens), bool) if mask is None else mask.numpy()


def _panels(number: int) -> tuple[Figure, list[Axes]]:
    """Make a figure with square panels in rows of four, and room for a window above each."""
    columns = min(number, _COLUMNS)
    width = _CELL * columns
    side = (width - _LEFT - 6 - _GAP * (columns - 1)) / columns
    rows = -(-number // columns)
    figure = blank_figure(width, rows * (_ABOVE + side + _BELOW))
    panels = []
    for place in range(number):
        row, column = divmod(place, columns)
        top = _ABOVE + row * (_ABOVE + side + _BELOW)
        panels.append(panel_at(figure, (_LEFT + column * (side + _GAP), top, side, side)))
    return figure, panels


def _without_padding(region: Region) -> Region:
    """The same windows as if padding were in sight."""
    rows, columns = (replace(band, real=None) for band in (region.rows, region.columns))
    return replace(region, rows=rows, columns=columns)


def _sides(region: Region, window: tuple[int, int]) -> str:
    groups = len(np.unique(_mask_of(_without_padding(region), window), axis=0))
    hidden = not _real(region, window).all()
    if groups == 1:
        return "padding is hidden" if hidden else "all look at all"
    return f"{groups} groups, padding" if hidden else f"{groups} groups of tokens"


def _real(region: Region, window: tuple[int, int]) -> np.ndarray:
    """True at tokens that are no hidden padding, (Mh, Mw)."""
    axes = []
    for band, side in zip((region.rows, region.columns), window, strict=True):
        inside = np.full(side, band.real is None)
        for start, stop in band.real or ():
            inside[start:stop] = True
        axes.append(inside)
    return axes[0][:, None] & axes[1]


def _draw_mask(axes: Axes, kind: Kind, region: Region, window: tuple[int, int]) -> None:
    allowed = _mask_of(region, window)
    colours = np.array([to_rgb(PALE), to_rgb(kind.colour)])
    side = len(allowed)
    axes.imshow(colours[allowed.astype(int)], extent=(0, side, side, 0), interpolation="none")
    step = (window[1], window[1])  # a row of the window
    grid(axes, (0, 0, side, side), step, color=PAPER, lw=0.8)


def _draw_window(axes: Axes, kind: Kind, region: Region, window: tuple[int, int]) -> None:
    """Show a window's tokens, a shade for each group of those that look at each other."""
    bare(axes)
    mh, mw = window
    seen = _mask_of(_without_padding(region), window)
    groups = np.unique(seen, axis=0, return_inverse=True)[1].reshape(mh, mw)
    order = {number: place for place, number in enumerate(dict.fromkeys(groups.flatten().tolist()))}
    shades = [_mixed(kind.colour, share) for share in (0.85, 0.55, 0.35, 0.15)]
    colours = np.array([[shades[order[int(one)]] for one in row] for row in groups])
    axes.imshow(colours, extent=(0, mw, mh, 0), interpolation="none")
    grid(axes, (0, 0, mw, mh), (1, 1), color=PAPER, lw=0.8)
    axes.set(xlim=(0, mw), ylim=(mh, 0))
    for y, x in np.argwhere(~_real(region, window)):
        axes.add_patch(Rectangle((x, y), 1, 1, fc="#f3f5f7", ec="#aab3bf", hatch="////", lw=0))
    (down, across) = region.rows.seam, region.columns.seam
    for x, y, letter in (
        ((across + mw) / 2, down / 2, "C"),
        (across / 2, (down + mh) / 2, "B"),
        ((across + mw) / 2, (down + mh) / 2, "A"),
    ):
        if x < mw and y < mh:
            letter_at(axes, (x, y), letter, INK, size=13)
    badge(axes, (across / 2, down / 2), str(kind.number), kind.colour, size=12)


def _mixed(colour: str, share: float) -> tuple[float, ...]:
    """A colour with white."""
    return tuple(1 - share * (1 - one) for one in to_rgb(colour))
