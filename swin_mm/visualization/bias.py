"""The position bias of a block: how it comes about, and the tables of all its heads."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from swin_mm.layers import ContinuousPositionBias
from swin_mm.visualization.errors import DrawingError
from swin_mm.visualization.network import Network
from swin_mm.visualization.position import HeadBias, draw_keys, draw_pairs, draw_table, frame
from swin_mm.visualization.style import (
    GRAY,
    INK,
    KINDS,
    PALE,
    blank_figure,
    panel_at,
    small_title,
    title,
)

_WIDTH, _GAP, _SMALL_GAP = 1400, 32, 16  # px
_SMALLEST, _LARGEST = 116, 210  # px of a head's table
_TOP, _CAPTION, _NAMES = 48, 84, 30  # px: above the first row, below it, above a small table


def draw_bias(network: Network, *, stage: int, block: int, head: int = 0) -> Figure:
    """Draw a block's position bias (Liu et al. 2021, eq. 4; of SwinV2, Liu et al. 2022, eq. 3).

    First row, of one head: how a query finds its numbers (of SwinV2: the scale on which its network
    sees offsets), the index of all pairs, the table by offset, and the bias of all pairs, which the
    index makes of the table. Below, the tables of all heads.

    Args:
        network: of either version.
        stage: which, from 0 on.
        block: which of the stage's, from 0 on.
        head: of the first row, which is framed below.

    Raises:
        DrawingError: if there is no such block or head.
    """
    module = network.block(stage, block).attn.w_msa
    heads = module.num_heads
    if not 0 <= head < heads:
        raise DrawingError(
            f"--head must be 0 to {heads - 1}: stage {stage} has {heads} heads, got {head}"
        )
    biases = [HeadBias.of(module, one) for one in range(heads)]
    mh, mw = module.window_size
    query = (mh // 3, mw // 3)

    # All panels as wide, for the captions' sake.
    wide = (_WIDTH - 12 - 3 * _GAP) / 4
    talls = [wide * mh / mw, wide, wide * (2 * mh - 1) / (2 * mw - 1), wide]
    columns, side = _columns_for(heads)
    below = side * (2 * mh - 1) / (2 * mw - 1)
    rows = math.ceil(heads / columns)
    second = _TOP + max(talls) + _CAPTION
    figure = blank_figure(_WIDTH, second + 34 + rows * (below + _NAMES + 8) + 8)

    if isinstance(module, ContinuousPositionBias):
        talls[0] = wide
    first, index, table, pairs = (
        panel_at(figure, (6 + number * (wide + _GAP), _TOP, wide, tall))
        for number, tall in enumerate(talls)
    )
    if isinstance(module, ContinuousPositionBias):
        _draw_coordinates(first, module)
    else:
        draw_keys(first, biases[head], query)
    _draw_index(index, biases[head], query)
    draw_table(table, biases[head], query)
    low, high = biases[head].table.min(), biases[head].table.max()
    title(
        table,
        f"Head {head}'s table, {2 * mh - 1}x{2 * mw - 1}",
        f"A number for each offset of a query\nfrom a key, {low:.2g} to {high:.2g}.",
    )
    draw_pairs(pairs, biases[head], query)
    side_of_pairs = mh * mw
    title(
        pairs,
        f"All pairs, {side_of_pairs}x{side_of_pairs}",
        "A query in each row, a key in each\ncolumn. Added to windows' scores.",
    )

    figure.text(
        6 / _WIDTH,
        1 - second / (100 * figure.get_size_inches()[1]),
        f"Tables of all {heads} heads: stage {stage}, block {block}",
        fontsize=15,
        fontweight="bold",
        color=INK,
        va="top",
    )
    for number, bias in enumerate(biases):
        row, column = divmod(number, columns)
        left = 6 + column * (side + _SMALL_GAP)
        top = second + 34 + _NAMES + row * (below + _NAMES + 8)
        axes = panel_at(figure, (left, top, side, below))
        axes.imshow(bias.by_offset, extent=(0, 2 * mw - 1, 2 * mh - 1, 0), **bias.look)
        if number == head and heads > 1:
            frame(axes, (0, 0), (2 * mw - 1, 2 * mh - 1))
        small_title(axes, f"head {number}", _range_of(bias), width=side)
    return figure


def _columns_for(heads: int) -> tuple[int, float]:
    """Find how many tables go side by side, and their width, px."""
    most = int((_WIDTH - 12 + _SMALL_GAP) // (_SMALLEST + _SMALL_GAP))
    rows = math.ceil(heads / most)
    columns = math.ceil(heads / rows)
    return columns, min((_WIDTH - 12 - _SMALL_GAP * (columns - 1)) / columns, _LARGEST)


def _range_of(bias: HeadBias) -> str:
    low, high = bias.look["vmin"], bias.look["vmax"]
    return f"±{high:.2g}" if low == -high else f"{low:.3g}..{high:.3g}"


def _draw_index(axes: Axes, bias: HeadBias, query: tuple[int, int]) -> None:
    side = len(bias.index)
    axes.imshow(bias.index, cmap="cividis", extent=(0, side, side, 0), interpolation="none")
    frame(axes, (0, query[0] * bias.window[1] + query[1]), (side, 1))
    title(
        axes,
        f"The index, {side}x{side}",
        f"Row of the table, 0 (dark) to {bias.index.max()},\nfor each query (row) and key.",
    )


def _draw_coordinates(axes: Axes, module: ContinuousPositionBias) -> None:
    """Plot where the network of the bias sees offsets: on a logarithmic scale."""
    mh, learned = module.window_size[0], module.pretrained_window_size[0]
    coordinates = module.relative_coords_table.float().cpu().numpy().reshape(2 * mh - 1, -1, 2)
    down = coordinates[:, 0, 0]
    offsets = np.arange(1 - mh, mh)
    unit = max(learned - 1, 1)
    axes.plot(offsets, offsets / unit, color=GRAY, lw=1.5, ls="--")
    axes.plot(offsets, down, "o-", color=KINDS[1].colour, lw=1.5, ms=5)
    axes.set_xticks(sorted({1 - mh, 0, mh - 1}))
    axes.set_yticks([-1, 0, 1])
    axes.tick_params(labelsize=11, labelcolor=GRAY, color=GRAY, direction="in", pad=-16)
    axes.tick_params(axis="y", pad=-22)
    axes.grid(color=PALE)
    for spine in axes.spines.values():
        spine.set(visible=True, color="#c5ccd5")
    axes.margins(0.14)
    title(
        axes,
        "Offsets, log-spaced",
        f"Offsets in tokens, as the network of\nthe bias sees them; dashed: by {unit}.",
    )
