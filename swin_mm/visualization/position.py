"""The relative position bias: from the table of offsets to the pairs of a window."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.layers import RelativePositionBias
from swin_mm.visualization.canvas import grid
from swin_mm.visualization.style import INK, KINDS, PAPER, badge, new_figure, title

_COLOURS = "PuOr_r"  # diverging around no bias, told apart without red and green


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
    number = query[0] * mw + query[1]
    index = module.relative_position_index[number].reshape(mh, mw).numpy()
    table = module.relative_position_bias_table[:, head].detach().numpy()
    bias = module.bias()[head].detach().numpy()
    most = float(np.abs(table).max()) or 1.0
    look = {"cmap": _COLOURS, "vmin": -most, "vmax": most, "interpolation": "none"}
    shapes = [mw / mh, (2 * mw - 1) / (2 * mh - 1), max(1, 0.85 * mw / mh)]
    figure, (window, offsets, pairs) = new_figure(shapes, bottom=78)

    window.imshow(table[index], extent=(0, mw, mh, 0), **look)
    grid(window, (0, 0, mw, mh), (1, 1), color=PAPER, lw=1)
    for row, column in np.ndindex(mh, mw):
        colour = _ink_on(table[index[row, column]], most)
        if (row, column) != query:
            place = (column + 0.5, row + 0.5)
            window.text(*place, index[row, column], ha="center", va="center", size=12, color=colour)
    badge(window, (query[1] + 0.5, query[0] + 0.5), "★", KINDS[2].colour, size=12)
    title(
        window,
        "The query ★ and its keys",
        "The number in a cell is the row of\nthe table for that offset.",
    )

    rows, columns = 2 * mh - 1, 2 * mw - 1
    box = (-mw + 0.5, mw - 0.5, mh - 0.5, -mh + 0.5)
    offsets.imshow(table.reshape(rows, columns), extent=box, **look)
    grid(
        offsets,
        (-mw + 0.5, -mh + 0.5, mw - 0.5, mh - 0.5),
        (1, 1),
        start=(0.5 - mh, 0.5 - mw),
        color=PAPER,
        lw=1,
    )
    _frame(offsets, (query[1] - mw + 0.5, query[0] - mh + 0.5), (mw, mh))
    for row, column in ((1 - mh, 1 - mw), (0, 0), (mh - 1, mw - 1)):
        number_of_row = (row + mh - 1) * columns + column + mw - 1
        colour = _ink_on(table[number_of_row], most)
        offsets.text(column, row, number_of_row, ha="center", va="center", size=11, color=colour)
    title(
        offsets,
        f"A head's table, {rows}x{columns} = {rows * columns}",
        "One learned number for each offset of\nquery from key; framed: those read left.",
    )

    side = mh * mw
    pairs.imshow(bias, extent=(0, side, side, 0), aspect="auto", **look)
    _frame(pairs, (0, number), (side, 1))
    title(
        pairs,
        f"The bias of all pairs, {side}x{side}",
        "A row is a query, a column a key.\nAdded to the scores of every window.",
    )
    return figure


def _ink_on(value: float, most: float) -> str:
    """A colour of letters that shows on a value's colour."""
    return PAPER if abs(value) > 0.6 * most else INK


def _frame(axes: Axes, corner: tuple[float, float], size: tuple[float, float]) -> None:
    for colour, width in ((PAPER, 5), (KINDS[2].colour, 2.5)):
        frame = Rectangle(corner, *size, fill=False, ec=colour, lw=width, clip_on=False, zorder=5)
        axes.add_patch(frame)
