"""How four neighbouring tokens become one, and in which order their channels lie."""

from __future__ import annotations

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from torch import Tensor, nn

from swin_mm.layers import PatchMerging
from swin_mm.visualization.canvas import grid
from swin_mm.visualization.style import GRAY, INK, KINDS, PALE, PAPER, new_figure, title

_SHOWN = 3  # channels of each token


def draw_merging(merging: PatchMerging) -> Figure:
    """Draw which tokens patch merging joins, and how it lays their channels out.

    The order is asked of the module itself: tokens that bear their own address go through it.

    Args:
        merging: any patch merging.
    """
    order = _order_of(merging)
    figure, (tokens, vector) = new_figure([1, 2.75], bottom=48)
    _draw_tokens(tokens, merging.stride)
    title(tokens, "Tokens of 2x2 neighbours", "Each square frame becomes one token.")
    _draw_vector(vector, order, merging)
    title(
        vector,
        "Their channels, interleaved",
        "Of each channel the four neighbours, row after row, as nn.Unfold lays them out.",
    )
    return figure


def _order_of(merging: PatchMerging) -> list[tuple[int, int]]:
    """Neighbour and channel of each feature before the norm, for a few channels."""
    probe = PatchMerging(_SHOWN, 4 * _SHOWN, stride=merging.stride, norm=None)
    nn.init.eye_(probe.reduction.weight)
    address = torch.arange(4 * _SHOWN, dtype=torch.float32).view(1, 2, 2, _SHOWN)
    with torch.no_grad():
        features: Tensor = probe(address)[0, 0, 0].long()
    return [divmod(int(one), _SHOWN) for one in features]


def _draw_tokens(axes: Axes, stride: int) -> None:
    side = 4
    axes.set(xlim=(0, side), ylim=(side, 0), aspect="equal")
    for row in range(side):
        for column in range(side):
            kind = KINDS[2 * (row % 2) + column % 2]
            axes.add_patch(Rectangle((column, row), 1, 1, fc=kind.colour, ec=PAPER, lw=2))
            address = f"{row % 2},{column % 2}"
            axes.text(
                column + 0.5,
                row + 0.5,
                address,
                ha="center",
                va="center",
                fontsize=15,
                fontweight="bold",
                color=PAPER,
            )
    if stride == 2:
        grid(axes, (0, 0, side, side), (2, 2), color=PAPER, lw=7, clip_on=False)
        grid(axes, (0, 0, side, side), (2, 2), color=INK, lw=2.6, clip_on=False)


def _draw_vector(axes: Axes, order: list[tuple[int, int]], merging: PatchMerging) -> None:
    """Draw the first features box by box, then what becomes of all of them."""
    out_channels, in_channels = merging.reduction.weight.shape
    axes.set(xlim=(0, 17), ylim=(6.1, 0))
    left = 0.0
    for feature, (neighbour, channel) in enumerate(order):
        left += 0.5 * (feature > 0 and channel != order[feature - 1][1])
        box = Rectangle((left, 0), 1, 1.5, fc=KINDS[neighbour].colour, ec=PAPER, lw=1.5)
        axes.add_patch(box)
        _write(axes, (left + 0.5, 0.75), f"{neighbour // 2},{neighbour % 2}", PAPER, bold=True)
        _write(axes, (left + 0.5, 2.0), str(feature), GRAY)
        if feature % 4 == 0:
            _write(axes, (left + 2, 2.75), f"channel {channel}", INK)
        left += 1
    _write(axes, (left + 1.4, 0.75), f"…  {in_channels} in all", INK)
    steps = ["norm" if merging.norm else None, f"Linear, {in_channels} to {out_channels}"]
    texts = [text for text in [*steps, f"one token of {out_channels}"] if text]
    left = 0.0
    for text, width in zip(texts, (3.0, 5.6, 5.6)[-len(texts) :], strict=True):
        if left:
            arrow = {"arrowstyle": "-|>", "color": GRAY, "lw": 1.8, "mutation_scale": 16}
            axes.annotate("", (left, 5), (left - 1.2, 5), arrowprops=arrow)
        plate = FancyBboxPatch(
            (left, 4.3), width, 1.4, boxstyle="round,pad=0,rounding_size=0.25", fc=PALE, ec="none"
        )
        axes.add_patch(plate)
        _write(axes, (left + width / 2, 5), text, INK)
        left += width + 1.2


def _write(axes: Axes, place: tuple[float, float], text: str, colour: str, bold: bool = False):
    weight = "bold" if bold else "normal"
    axes.text(*place, text, ha="center", va="center", fontsize=13, color=colour, fontweight=weight)
