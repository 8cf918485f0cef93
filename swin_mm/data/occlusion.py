"""What of each thing is hidden by others or by the picture's edge."""

import numpy as np

from .sprites import Sprite, overlap

_LEAST_VISIBLE = 0.3  # of a thing's area (of the first one's in a crowd)
_LEAST_PIXELS = 16  # that a thing covers by half or more


def visible(
    groups: list[list[Sprite]], size: tuple[int, int]
) -> list[tuple[tuple[int, int], np.ndarray] | None]:
    """What shows of each group of sprites, looking from the front.

    Args:
        groups: from back to front.
        size: width and height of the picture, px.

    Returns:
        For each group the corner (column and row) and the visible share of
        each pixel, (h, w) float32, cut to the picture; None for a group that
        shows too little and is to be left out: it hides nothing then.
    """
    clear = np.ones(size[::-1], np.float32)
    seen: list[tuple[tuple[int, int], np.ndarray] | None] = []
    for members in reversed(groups):
        spots = [overlap(s.corner, s.cover.shape, clear.shape) for s in members]
        top, left = (min(inside[axis].start for inside, _ in spots) for axis in (0, 1))
        bottom, right = (max(inside[axis].stop for inside, _ in spots) for axis in (0, 1))
        place = np.s_[top:bottom, left:right]
        before = clear[place].copy()
        for sprite, (inside, within) in zip(members, spots, strict=True):
            clear[inside] *= 1 - sprite.cover[within]
        cover = before - clear[place]
        least = _LEAST_VISIBLE * float(members[0].cover.sum())
        if cover.sum() < least or np.count_nonzero(cover >= 0.5) < _LEAST_PIXELS:
            clear[place] = before
            seen.append(None)
        else:
            seen.append(((left, top), cover))
    return seen[::-1]
