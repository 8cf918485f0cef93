"""The relative position bias: from the table of offsets to the pairs of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.layers import ContinuousPositionBias, RelativePositionBias
from swin_mm.visualization.canvas import grid
from swin_mm.visualization.style import INK, KINDS, PAPER, badge, new_figure, title

# Told apart without red and green: learned biases around none, and those of SwinV2, 0 to 16.
_AROUND_ZERO, _ABOVE_ZERO = "PuOr_r", "YlOrBr"
_LETTERS = 24  # px of a cell that has room for a number of three digits


@dataclass(frozen=True)
class HeadBias:
    """What a head adds to the scores of a window.

    Attributes:
        window: height and width, tokens.
        index: row of the table for each pair, (N, N).
        table: a number for each offset, row-major, ((2 Mh - 1) * (2 Mw - 1),).
        pairs: the bias of each pair, (N, N).
        look: colours and their limits, as matplotlib takes them.
    """

    window: tuple[int, int]
    index: np.ndarray
    table: np.ndarray
    pairs: np.ndarray
    look: dict[str, Any]

    @classmethod
    def of(cls, module: RelativePositionBias | ContinuousPositionBias, head: int) -> HeadBias:
        """Ask a module; its table is what :meth:`bias` spreads over the pairs."""
        (mh, mw), index = module.window_size, module.relative_position_index.cpu()
        with torch.no_grad():
            pairs = module.bias()[head].float().cpu()
        table = torch.zeros((2 * mh - 1) * (2 * mw - 1))
        table[index.flatten()] = pairs.flatten()  # every offset is some pair's
        if isinstance(module, ContinuousPositionBias):
            low, high = float(table.min()), float(table.max())
            limits = {"cmap": _ABOVE_ZERO, "vmin": low, "vmax": max(high, low + 1e-3)}
        else:
            most = float(table.abs().max()) or 1.0
            limits = {"cmap": _AROUND_ZERO, "vmin": -most, "vmax": most}
        look = {**limits, "interpolation": "none"}
        return cls((mh, mw), index.numpy(), table.numpy(), pairs.numpy(), look)

    @property
    def by_offset(self) -> np.ndarray:
        """The table laid out by offset, (2 Mh - 1, 2 Mw - 1)."""
        mh, mw = self.window
        return self.table.reshape(2 * mh - 1, 2 * mw - 1)


def draw_position_bias(
    module: RelativePositionBias, query: tuple[int, int] = (1, 2), *, head: int = 0
) -> Figure:
    """Draw how a token's biases are looked up (Liu et al. 2021, eq. 4).

    Left a window, in each cell the row of the table that the query, starred, reads for that key;
    in the middle the head's table laid out by offset, with a frame around those rows; on the right
    the biases of all pairs, with a frame around the query's own.

    Args:
        module: whose table and index.
        query: row and column of the query in its window, tokens.
        head: which head.

    Raises:
        ValueError: if the window has no such token or the module no such head.
    """
    (mh, mw), heads = module.window_size, module.relative_position_bias_table.shape[1]
    if not (0 <= query[0] < mh and 0 <= query[1] < mw and 0 <= head < heads):
        raise ValueError(
            f"query and head must be of a window of {mh}x{mw} tokens and {heads} heads, "
            f"got {query} and {head}"
        )
    bias = HeadBias.of(module, head)
    shapes = [mw / mh, (2 * mw - 1) / (2 * mh - 1), max(1, 0.85 * mw / mh)]
    figure, (window, offsets, pairs) = new_figure(shapes, bottom=78)
    draw_keys(window, bias, query)
    draw_table(offsets, bias, query)
    title(
        offsets,
        f"A head's table, {2 * mh - 1}x{2 * mw - 1} = {len(bias.table)}",
        "One learned number for each offset of\nquery from key; framed: those read left.",
    )
    draw_pairs(pairs, bias, query)
    title(
        pairs,
        f"The bias of all pairs, {mh * mw}x{mh * mw}",
        "A row is a query, a column a key.\nAdded to the scores of every window.",
    )
    return figure


def draw_keys(axes: Axes, bias: HeadBias, query: tuple[int, int]) -> None:
    """Show a window with the row of the table that a query reads for each key."""
    mh, mw = bias.window
    index = bias.index[query[0] * mw + query[1]].reshape(mh, mw)
    axes.imshow(bias.table[index], extent=(0, mw, mh, 0), **bias.look)
    grid(axes, (0, 0, mw, mh), (1, 1), color=PAPER, lw=1)
    roomy = _cell(axes, mw) >= _LETTERS
    for row, column in np.ndindex(mh, mw):
        if (row, column) != query and roomy:
            number = index[row, column]
            place, colour = (column + 0.5, row + 0.5), _ink_on(bias.table[number], bias.look)
            axes.text(*place, number, ha="center", va="center", size=_size(axes, mw), color=colour)
    badge(axes, (query[1] + 0.5, query[0] + 0.5), "★", KINDS[2].colour, size=12 if roomy else 9)
    caption = (
        "The number in a cell is the row of\nthe table for that offset."
        if roomy
        else "The colour of a cell is the bias of\nthe query ★ and that key."
    )
    title(axes, "The query ★ and its keys", caption)


def draw_table(axes: Axes, bias: HeadBias, query: tuple[int, int]) -> None:
    """Show a head's table by offset, with a frame around what a query reads."""
    mh, mw = bias.window
    columns = 2 * mw - 1
    left, top = 0.5 - mw, 0.5 - mh
    axes.imshow(bias.by_offset, extent=(left, -left, -top, top), **bias.look)
    if _cell(axes, columns) >= 10:
        grid(axes, (left, top, -left, -top), (1, 1), start=(top, left), color=PAPER, lw=1)
    frame(axes, (query[1] - mw + 0.5, query[0] - mh + 0.5), (mw, mh))
    if _cell(axes, columns) >= 18:
        for row, column in ((1 - mh, 1 - mw), (0, 0), (mh - 1, mw - 1)):
            number = (row + mh - 1) * columns + column + mw - 1
            colour = _ink_on(bias.table[number], bias.look)
            axes.text(
                column,
                row,
                number,
                ha="center",
                va="center",
                size=_size(axes, columns),
                color=colour,
            )


def draw_pairs(axes: Axes, bias: HeadBias, query: tuple[int, int]) -> None:
    """Show the bias of all pairs, with a frame around a query's."""
    side = len(bias.pairs)
    axes.imshow(bias.pairs, extent=(0, side, side, 0), aspect="auto", **bias.look)
    frame(axes, (0, query[0] * bias.window[1] + query[1]), (side, 1))


def frame(axes: Axes, corner: tuple[float, float], size: tuple[float, float]) -> None:
    """Draw a frame that shows on any colour."""
    for colour, width in ((PAPER, 5), (KINDS[2].colour, 2.5)):
        edge = Rectangle(corner, *size, fill=False, ec=colour, lw=width, clip_on=False, zorder=5)
        axes.add_patch(edge)


def _cell(axes: Axes, cells: int) -> float:
    """Width of one of so many cells of a panel, px."""
    return axes.get_position(original=True).width * axes.figure.get_size_inches()[0] * 100 / cells


def _size(axes: Axes, cells: int) -> float:
    return 12 if _cell(axes, cells) >= 32 else 9


def _ink_on(value: float, look: dict[str, Any]) -> str:
    """A colour of letters that shows on a value's colour."""
    share = Normalize(look["vmin"], look["vmax"])(value)
    red, green, blue = to_rgb(colormaps[look["cmap"]](float(share)))
    return PAPER if 0.3 * red + 0.59 * green + 0.11 * blue < 0.5 else INK
