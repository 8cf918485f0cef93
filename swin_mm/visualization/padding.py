"""A map that its windows do not divide."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from swin_mm.ops import WindowPlan
from swin_mm.visualization.canvas import (
    fit_picture,
    grid,
    hatch_padding,
    lay_out,
    show,
    window_lines,
)
from swin_mm.visualization.style import INK, PAPER, new_figure, title
from swin_mm.visualization.windows import draw_pieces, draw_seams


def draw_padding(picture: np.ndarray, plan: WindowPlan) -> Figure:
    """Draw how a map is padded to whole windows, and rolled after that where it is shifted.

    Args:
        picture: stands for the map, (H, W, 3) uint8 RGB, of any size.
        plan: windows of a block.
    """
    fitted = fit_picture(picture, plan)
    still = WindowPlan(plan.size, plan.window)
    (height, width), (padded_height, padded_width) = plan.size, plan.padded_size
    shape = padded_width / padded_height
    figure, panels = new_figure([shape] * (3 if any(plan.shift) else 2))

    alone, padded = panels[:2]
    show(alone, fitted, plan.size)
    grid(alone, (0, 0, width, height), (1, 1), color=PAPER, lw=0.7)
    grid(alone, (0, 0, width, height), plan.size, color=INK, lw=1.8, clip_on=False)
    alone.set(xlim=(0, padded_width), ylim=(padded_height, 0))
    mh, mw = plan.window
    title(
        alone,
        f"A map of {height}x{width} tokens",
        f"Windows of {mh}x{mw} do not divide it.",
    )

    show(padded, lay_out(fitted, still), plan.padded_size)
    hatch_padding(padded, still)
    window_lines(padded, plan)
    rows, columns = plan.counts
    title(
        padded,
        f"Padded to {padded_height}x{padded_width}",
        f"Zeros at the bottom and on the right:\n{rows}x{columns} windows.",
    )
    if any(plan.shift):
        rolled = panels[2]
        show(rolled, lay_out(fitted, plan), plan.padded_size)
        hatch_padding(rolled, plan)
        draw_pieces(rolled, plan, rolled=True)
        window_lines(rolled, plan)
        draw_seams(rolled, plan)
        title(
            rolled,
            f"Then rolled by {plan.shift[0]}",
            "Padding takes part like any token,\nunless mask_padding hides it.",
        )
    return figure
