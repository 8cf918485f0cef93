"""The windows of a map before and after the shift."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from swin_mm.ops import WindowPlan
from swin_mm.visualization.canvas import (
    box_of,
    fit_picture,
    hatch_padding,
    kinds_of,
    lay_out,
    show,
    tint,
    window_lines,
)
from swin_mm.visualization.style import (
    INK,
    KINDS,
    PAPER,
    badge,
    letter_at,
    new_figure,
    title,
)


def draw_windows(picture: np.ndarray, plan: WindowPlan) -> Figure:
    """Draw how two blocks in a row cut a map into windows (Liu et al. 2021, fig. 2 and 4).

    Left the windows of a block without shift; in the middle those of the block after it, which
    cross the borders of the first and leave cut pieces A, B and C; on the right how rolling the
    map makes them whole, what that brings together across the seams, and which of four masks keeps
    it apart. Padding is hatched.

    Args:
        picture: stands for the map, (H, W, 3) uint8 RGB, of any size.
        plan: windows of a block that shifts.

    Raises:
        ValueError: if the plan does not shift.
    """
    if not any(plan.shift):
        raise ValueError(
            f"draw_windows shows a shift, this plan's is {plan.shift}; make it by "
            "WindowPlan.of(size, window, shifted=True)"
        )
    fitted, still = fit_picture(picture, plan), WindowPlan(plan.size, plan.window)
    height, width = plan.padded_size
    figure, panels = new_figure([width / height] * 3)
    mh, mw = plan.window
    for axes, shown in zip(panels, (still, still, plan), strict=True):
        show(axes, lay_out(fitted, shown), plan.padded_size)
        hatch_padding(axes, shown)

    plain, shifted, rolled = panels
    window_lines(plain, plan)
    title(
        plain,
        f"Windows of {mh}x{mw} tokens",
        "Tokens look at each other\ninside their window only.",
    )
    draw_pieces(shifted, plan, rolled=False)
    window_lines(shifted, plan, start=plan.shift)
    title(
        shifted,
        f"Next block: shifted by {_amount(plan.shift)}",
        "Windows cross the old borders, but\nleave pieces at the edges: A, B, C.",
    )
    draw_pieces(rolled, plan, rolled=True)
    window_lines(rolled, plan)
    draw_seams(rolled, plan)
    _draw_numbers(rolled, plan)
    title(
        rolled,
        "Rolled: whole windows again",
        "Nobody looks across a dashed seam:\nfour kinds of window, four masks.",
    )
    return figure


def draw_seams(axes: Axes, plan: WindowPlan) -> None:
    """Draw where opposite borders of a rolled map meet, inside the last windows."""
    (height, width), (down, across) = plan.padded_size, plan.shift
    line = {"color": PAPER, "lw": 2.6, "dash_capstyle": "butt"}
    over = line | {"color": INK, "lw": 2.6, "ls": (0, (2.2, 1.8))}
    for style in (line, over):
        if down:
            axes.plot([0, width], [height - down] * 2, **style)
        if across:
            axes.plot([width - across] * 2, [0, height], **style)


def draw_pieces(axes: Axes, plan: WindowPlan, *, rolled: bool) -> None:
    """Tint and letter what lies before the first whole window, where it was or is rolled to."""
    (height, width), (down, across) = plan.padded_size, plan.shift
    top, left = (height - down, width - across) if rolled else (0, 0)
    y, x = (0, 0) if rolled else (down, across)
    pieces = {
        "A": (left, top, left + across, top + down),
        "B": (x, top, x + width - across, top + down),
        "C": (left, y, left + across, y + height - down),
    }
    for (letter, (x0, y0, x1, y1)), kind in zip(
        pieces.items(), (KINDS[3], KINDS[2], KINDS[1]), strict=True
    ):
        if x1 > x0 and y1 > y0:
            tint(axes, (x0, y0, x1, y1), kind.colour)
            letter_at(axes, ((x0 + x1) / 2, (y0 + y1) / 2), letter, kind.colour)


def _draw_numbers(axes: Axes, plan: WindowPlan) -> None:
    """Write the number of its kind into every window, beside its seams."""
    (mh, mw), (down, across) = plan.window, plan.shift
    for kind, region in kinds_of(plan):
        left, top, right, bottom = box_of(region, plan.window)
        for y in range(top, bottom, mh):
            for x in range(left, right, mw):
                place = (x + (mw - across) / 2, y + (mh - down) / 2)
                badge(axes, place, str(kind.number), kind.colour)


def _amount(shift: tuple[int, int]) -> str:
    return str(shift[0]) if shift[0] == shift[1] else f"{shift[0]} down, {shift[1]} across"
