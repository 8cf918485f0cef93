"""Which colour is which class, written on white."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from mmengine.visualization import Visualizer

from swin_mm.inference.classes import Classes

_LEAST_SHARE = 0.001  # of the picture, for a class to be named below it
_PAGE, _LETTERS = 1400, 20  # px, width and letters of the legend of all classes
_LONGEST = 60  # letters of a name


def legend_of(classes: Classes, labels: Sequence[int]) -> np.ndarray:
    """Write down classes in their order, (H, W, 3) uint8 RGB."""
    entries = [(classes.colours[label], _in_a_line(classes.names[label])) for label in labels]
    width = min(_PAGE, math.ceil(len(entries) * _column(entries, _LETTERS)))
    return _page(entries, max(width, 1), size=_LETTERS)


def legend_below(labels: np.ndarray, classes: Classes, width: int) -> np.ndarray:
    """Write down the classes that occur in a picture, the largest first, as wide as the picture.

    Args:
        labels: (H, W); those past the last class are of none.
        classes: of the model.
        width: px.

    Returns:
        (H, width, 3) uint8 RGB.
    """
    count = len(classes.names)
    counts = np.zeros(count, np.int64)
    for top in range(0, len(labels), 256):  # counting takes eight bytes a pixel
        band = labels[top : top + 256].ravel()
        counts += np.bincount(band, minlength=count)[:count]
    shares = counts / labels.size
    shown = [label for label in np.argsort(-shares, kind="stable") if shares[label] >= _LEAST_SHARE]
    texts = [f"{_in_a_line(classes.names[label])}  {shares[label]:.1%}" for label in shown]
    return _page(
        [(classes.colours[label], text) for label, text in zip(shown, texts, strict=True)], width
    )


def _in_a_line(name: str) -> str:
    """A name as a line of a legend has room for."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _column(entries: Sequence[tuple[tuple[int, int, int], str]], size: float) -> float:
    """How wide the longest text and its colour are, px."""
    longest = max((len(text) for _, text in entries), default=0)
    return max(size * (3 + 0.62 * longest), 1)


def _page(
    entries: Sequence[tuple[tuple[int, int, int], str]], width: int, *, size: float | None = None
) -> np.ndarray:
    """Write lines, each behind its colour, in as many columns as fit.

    Args:
        entries: colour and text of each.
        width: of the page, px.
        size: of letters, px; by default what reads well below a picture of that width.

    Returns:
        (H, width, 3) uint8 RGB.
    """
    size = size or min(max(width / 32, 8), 28)
    line, column = round(1.7 * size), _column(entries, size)
    columns = max(int(width / column), 1)
    page = np.full((line * -(-len(entries) // columns) + line // 2, width, 3), 255, np.uint8)
    if not entries:
        return page
    number = np.arange(len(entries))
    left = number % columns * (width / columns) + 0.4 * size
    top = number // columns * line + 0.5 * size
    painter = Visualizer(image=page)
    colours, texts = (list(one) for one in zip(*entries, strict=True))
    boxes = np.stack([left, top, left + size, top + size], 1)
    painter.draw_bboxes(boxes, face_colors=colours, edge_colors="k", line_widths=1, alpha=1)
    with rc_context({"text.parse_math": False}):  # a name with two dollars is no formula
        painter.draw_texts(
            texts,
            np.stack([left + 1.6 * size, top + size / 2], 1),
            font_sizes=0.72 * size,
            vertical_alignments="center",
            colors="k",
        )
        return painter.get_image()
