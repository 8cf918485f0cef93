"""One look for all figures: colours, letters, lines; for a white page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

INK, GRAY, PALE, PAPER = "#1f2a36", "#6b7787", "#e8ebef", "#ffffff"


_MARGIN, _GAP = 6, 32  # px, right of a figure's panels and between them


@dataclass(frozen=True)
class Kind:
    """One of the four kinds of window of a shifted map.

    Attributes:
        number: 1 to 4, as written on it.
        name: where such windows lie.
        colour: told apart without red and green (Okabe and Ito 2008).
    """

    number: int
    name: str
    colour: str


# By 2 * (holds the horizontal seam) + (holds the vertical seam).
KINDS = (
    Kind(1, "inner", "#56789a"),
    Kind(2, "right border", "#0072b2"),
    Kind(3, "bottom border", "#d55e00"),
    Kind(4, "corner", "#a0468c"),
)


def new_figure(
    shapes: Sequence[float],
    *,
    width: int = 1400,
    top: int = 48,
    bottom: int = 68,
    left: int = 6,
) -> tuple[Figure, list[Axes]]:
    """Make a figure with panels of one height side by side, without ticks.

    Args:
        shapes: width by height of each panel.
        width: of the figure, px.
        top: room for titles, px.
        bottom: room for captions, px.
        left: margin, px.
    """
    height = (width - left - _MARGIN - _GAP * (len(shapes) - 1)) / sum(shapes)
    whole = height + top + bottom
    figure = Figure(figsize=(width / 100, whole / 100), dpi=100, facecolor=PAPER)
    panels = []
    for shape in shapes:
        place = (left / width, bottom / whole, height * shape / width, height / whole)
        panels.append(figure.add_axes(place))
        bare(panels[-1])
        left += height * shape + _GAP
    return figure, panels


def blank_figure(width: float, height: float) -> Figure:
    """Make a figure without panels; sizes in px."""
    return Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=PAPER)


def panel_at(figure: Figure, box: tuple[float, float, float, float]) -> Axes:
    """Add a panel without ticks.

    Args:
        figure: of 100 px an inch.
        box: left, top, width and height, px.
    """
    left, top, width, height = box
    whole_width, whole_height = (100 * side for side in figure.get_size_inches())
    place = (left / whole_width, 1 - (top + height) / whole_height)
    axes = figure.add_axes((*place, width / whole_width, height / whole_height))
    bare(axes)
    return axes


def small_title(axes: Axes, text: str, more: str = "", *, width: float = 400) -> None:
    """Write a name above a small panel, and on the right, as far as there is room, more.

    Args:
        axes: the panel.
        text: its name.
        more: a few words; the last alone where there is no room for all.
        width: of the panel, px.
    """
    look = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    axes.annotate(text, (0, 1), (0, 4), fontsize=11, fontweight="bold", color=INK, **look)
    if 9 * (len(text) + len(more)) > width:
        more = more.rpartition(" ")[2]
    if more and 9 * (len(text) + len(more)) < width:
        axes.annotate(more, (1, 1), (0, 4), fontsize=11, color=GRAY, ha="right", **look)


def sign(figure: Figure, text: str) -> None:
    """Write below a figure what it was drawn from, on a strip of its own.

    Args:
        figure: of 100 px an inch; grows by the strip.
        text: a line.
    """
    strip = 0.3  # inch
    width, height = figure.get_size_inches()
    grown = height + strip
    places = [(axes, axes.get_position(original=True)) for axes in figure.axes]
    figure.set_size_inches(width, grown)
    for axes, box in places:
        place = (box.x0, (box.y0 * height + strip) / grown, box.width, box.height * height / grown)
        axes.set_position(place)
    figure.text(6 / (100 * width), 0.1 / grown, text, fontsize=11, color=GRAY, va="bottom")


def bare(axes: Axes) -> None:
    """Take frame and ticks away."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def title(axes: Axes, text: str, caption: str = "") -> None:
    """Write what a panel shows above it, and what to look at below it."""
    axes.set_title(text, fontsize=15, fontweight="bold", color=INK, loc="left", pad=10)
    axes.annotate(
        caption,
        (0, 0),
        (0, -12),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=13,
        color=GRAY,
        linespacing=1.4,
    )


def badge(axes: Axes, place: tuple[float, float], text: str, colour: str, size: float = 13) -> None:
    """Write a word or two on a round plate at a place (x, y) of the data."""
    axes.annotate(
        text,
        place,
        ha="center",
        va="center",
        fontsize=size,
        fontweight="bold",
        color=PAPER,
        bbox={"boxstyle": "circle,pad=0.28", "facecolor": colour, "edgecolor": PAPER, "lw": 1.4},
    )


def letter_at(
    axes: Axes, place: tuple[float, float], text: str, colour: str, size: float = 17
) -> None:
    """Write a letter with a white rim at a place (x, y) of the data."""
    axes.text(
        *place,
        text,
        ha="center",
        va="center",
        fontsize=size,
        fontweight="bold",
        color=colour,
        path_effects=[withStroke(linewidth=4, foreground=PAPER)],
    )
