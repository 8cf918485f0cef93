"""A picture cut into tokens and windows: what the figures of windows have in common.

Axes are in tokens: x to the right, y down, the map's first token at (0, 0) to (1, 1).
"""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from swin_mm.ops import Region, WindowPlan, regions
from swin_mm.visualization.style import INK, KINDS, PAPER, Kind

Box = tuple[int, int, int, int]  # left, top, right, bottom, tokens

_LONG_SIDE = 448  # px of a panel's picture: more is not seen and makes large files


def fit_picture(picture: np.ndarray, plan: WindowPlan) -> np.ndarray:
    """Resize a picture so that every token of a map is a square of whole pixels.

    Args:
        picture: (H, W, 3) uint8 RGB, of any size.
        plan: the map's windows.

    Returns:
        (rows * scale, columns * scale, 3).
    """
    rows, columns = plan.size
    scale = max(_LONG_SIDE // max(plan.padded_size), 1)
    size = (columns * scale, rows * scale)
    return cv2.resize(np.ascontiguousarray(picture), size, interpolation=cv2.INTER_AREA)


def lay_out(picture: np.ndarray, plan: WindowPlan) -> np.ndarray:
    """Pad and roll a fitted picture as the plan does with its map; padding is white.

    Returns:
        (padded rows * scale, padded columns * scale, 3) uint8.
    """
    scale = picture.shape[0] // plan.size[0]
    pixels = WindowPlan(*(_scaled(pair, scale) for pair in (plan.size, plan.window, plan.shift)))
    # Inverted, for what a plan pads with is zero.
    laid_out = pixels.lay_out(torch.from_numpy(255 - picture)[None])[0]
    return 255 - laid_out.numpy()


def show(axes: Axes, picture: np.ndarray, size: tuple[int, int], *, fade: float = 0.0) -> None:
    """Show a picture over a map of some size in tokens.

    Args:
        axes: where.
        picture: (h, w, 3) uint8.
        size: height and width it stands for, tokens.
        fade: share of white mixed in.
    """
    height, width = size
    faded = (picture * (1 - fade) + 255 * fade).astype(np.uint8)
    axes.imshow(faded, extent=(0, width, height, 0), interpolation="none")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)


def grid(
    axes: Axes, box: Box, step: tuple[float, float], *, start: tuple[float, float] = (0, 0), **line
) -> None:
    """Draw the lines of a grid inside a box.

    Args:
        axes: where.
        box: what the lines stay in.
        step: height and width of a cell, tokens.
        start: y and x of a crossing, tokens.
        **line: colour, width and style, as matplotlib takes them.
    """
    left, top, right, bottom = box
    for y in np.arange(start[0], bottom + 1e-6, step[0]):
        if y >= top:
            axes.plot([left, right], [y, y], **line)
    for x in np.arange(start[1], right + 1e-6, step[1]):
        if x >= left:
            axes.plot([x, x], [top, bottom], **line)


def window_lines(
    axes: Axes, plan: WindowPlan, *, start: tuple[float, float] = (0, 0), thin: bool = False
) -> None:
    """Draw the borders of windows and of the map, white below dark to show on any picture.

    Args:
        axes: where.
        plan: whose windows.
        start: y and x of a crossing, tokens.
        thin: draw lines of half the width, for many windows.
    """
    height, width = plan.padded_size
    box = (0, 0, width, height)
    for colour, thickness in ((PAPER, 1.6), (INK, 0.7)) if thin else ((PAPER, 3.8), (INK, 1.8)):
        line = {"color": colour, "lw": thickness, "solid_capstyle": "butt", "clip_on": False}
        grid(axes, box, plan.window, start=start, **line)
        grid(axes, box, plan.padded_size, **line)


def hatch_padding(axes: Axes, plan: WindowPlan) -> None:
    """Mark the padding of a laid-out map, wherever the roll has brought it."""
    (height, width), (rows, columns) = plan.padded_size, plan.size
    (down, across), (bottom, right) = plan.shift, plan.padding
    look = {"fc": "#f3f5f7", "ec": "#aab3bf", "hatch": "////", "lw": 0}
    # Rolled by less than padding and map together: one strip each way, which may wrap around.
    for top, size in _wrapped(rows - down, bottom, height):
        axes.add_patch(Rectangle((0, top), width, size, **look))
    for left, size in _wrapped(columns - across, right, width):
        axes.add_patch(Rectangle((left, 0), size, height, **look))


def _wrapped(start: int, length: int, period: int) -> Iterator[tuple[int, int]]:
    """A strip of a circle cut open at 0, as pieces of (start, length)."""
    start %= period
    if length:
        yield start, min(length, period - start)
        if start + length > period:
            yield 0, start + length - period


def tint(axes: Axes, box: Box, colour: str, alpha: float = 0.5) -> None:
    """Lay a colour over a box."""
    left, top, right, bottom = box
    axes.add_patch(Rectangle((left, top), right - left, bottom - top, fc=colour, alpha=alpha, lw=0))


def kinds_of(plan: WindowPlan, *, mask_padding: bool = False) -> Iterator[tuple[Kind, Region]]:
    """Go through the regions of a plan with the kind of their windows."""
    for row in regions(plan, mask_padding=mask_padding):
        for region in row:
            across = region.columns.seam < plan.window[1]
            down = region.rows.seam < plan.window[0]
            yield KINDS[2 * down + across], region


def box_of(region: Region, window: tuple[int, int]) -> Box:
    """Where a region of windows lies in the laid-out map, tokens."""
    (mh, mw), rows, columns = window, region.rows, region.columns
    return (columns.start * mw, rows.start * mh, columns.stop * mw, rows.stop * mh)


def _scaled(pair: tuple[int, int], scale: int) -> tuple[int, int]:
    return pair[0] * scale, pair[1] * scale
