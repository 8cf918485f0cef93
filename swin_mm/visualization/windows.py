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

_KINDS = {
    1: "one kind of window, one mask",
    2: "two kinds of window, two masks",
    4: "four kinds of window, four masks",
}
_MOST_BADGES = 10  # windows in a row or column that have room for one each


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
    thin = max(plan.counts) > _MOST_BADGES
    window_lines(plain, plan, thin=thin)
    title(
        plain,
        f"Windows of {mh}x{mw} tokens",
        "Tokens look at each other\ninside their window only.",
    )
    draw_pieces(shifted, plan, rolled=False)
    window_lines(shifted, plan, start=plan.shift, thin=thin)
    title(
        shifted,
        f"Next block: shifted by {said_shift(plan.shift)}",
        "Windows cross the old borders, but\nleave pieces at the edges: A, B, C.",
    )
    draw_pieces(rolled, plan, rolled=True)
    window_lines(rolled, plan, thin=thin)
    draw_seams(rolled, plan)
    _draw_numbers(rolled, plan)
    title(
        rolled,
        "Rolled: whole windows again",
        f"Nobody looks across a dashed seam:\n{_KINDS[len(list(kinds_of(plan)))]}.",
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
    many = max(plan.counts) > _MOST_BADGES  # then numbers are in the middle of the strips
    for (letter, (x0, y0, x1, y1)), kind in zip(
        pieces.items(), (KINDS[3], KINDS[2], KINDS[1]), strict=True
    ):
        if x1 > x0 and y1 > y0:
            tint(axes, (x0, y0, x1, y1), kind.colour)
            share = 0.25 if many and letter != "A" else 0.5
            place = (x0 + share * (x1 - x0), y0 + share * (y1 - y0))
            if letter == "B":
                place = (place[0], (y0 + y1) / 2)
            elif letter == "C":
                place = ((x0 + x1) / 2, place[1])
            if not (many and rolled and letter == "A"):  # where number 4 is
                letter_at(axes, place, letter, kind.colour)


def _draw_numbers(axes: Axes, plan: WindowPlan) -> None:
    """Write the number of its kind into every window, beside its seams.

    Where windows are too many for it, each rectangle of windows of a kind bears its number once.
    """
    (mh, mw), (down, across) = plan.window, plan.shift
    if max(plan.counts) > _MOST_BADGES:
        for kind, region in kinds_of(plan):
            left, top, right, bottom = box_of(region, plan.window)
            place = ((left + right - across) / 2, (top + bottom - down) / 2)
            badge(axes, place, str(kind.number), kind.colour, size=11)
        return
    for kind, region in kinds_of(plan):
        left, top, right, bottom = box_of(region, plan.window)
        for y in range(top, bottom, mh):
            for x in range(left, right, mw):
                place = (x + (mw - across) / 2, y + (mh - down) / 2)
                badge(axes, place, str(kind.number), kind.colour)


def said_shift(shift: tuple[int, int]) -> str:
    """Write a shift, tokens, in one number where it is one."""
    return str(shift[0]) if shift[0] == shift[1] else f"{shift[0]} down, {shift[1]} across"
