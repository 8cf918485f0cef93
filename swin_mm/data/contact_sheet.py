"""A page of scenes with the things outlined and named, to see at a glance what was made."""

import cv2
import numpy as np

from .kinds import KINDS
from .outlines import outlines
from .palettes import from_hsv
from .scene import Scene

_CELL = 320  # px, the width of a scene on the page
_COLOURS = from_hsv(np.array([[k / len(KINDS), 0.75, 1.0] for k in range(len(KINDS))]))


def explained(scene: Scene) -> np.ndarray:
    """A scene with outlines and names drawn on it, (h, 320, 3) uint8 BGR."""
    image = scene.image if scene.image.ndim == 3 else cv2.cvtColor(scene.image, cv2.COLOR_GRAY2BGR)
    scale = _CELL / scene.size[0]
    shape = (_CELL, max(1, round(scene.size[1] * scale)))
    image = cv2.resize(image, shape, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    for thing in scene.things:
        colour = _COLOURS[KINDS.index(thing.kind)].tolist()
        rings = [ring for part in outlines(thing.cover, thing.corner) for ring in part]
        corners = [np.round((ring * scale - 0.5) * 16).astype(np.int32) for ring in rings]
        cv2.polylines(image, corners, True, (0, 0, 0), 3, cv2.LINE_AA, 4)
        cv2.polylines(image, corners, True, colour, 1, cv2.LINE_AA, 4)
    for thing in scene.things:
        colour = _COLOURS[KINDS.index(thing.kind)].tolist()
        _write(image, f"{thing.kind.name}{' (crowd)' * thing.crowd}", thing.corner, scale, colour)
    return image


def _write(
    image: np.ndarray, text: str, corner: tuple[int, int], scale: float, colour: list[int]
) -> None:
    """Write a word on a dark plate at a corner, moved so that it stays in the picture."""
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.36, 1)
    left = int(min(max(0, corner[0] * scale), image.shape[1] - width - 4))
    top = int(min(max(0, corner[1] * scale), image.shape[0] - height - 6))
    image[top : top + height + 6, left : left + width + 4] //= 4
    place = (left + 2, top + height + 2)
    cv2.putText(image, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.36, colour, 1, cv2.LINE_AA)


def contact_sheet(scenes: list[Scene], columns: int = 5) -> np.ndarray:
    """Lay explained scenes out row by row on a white page, (H, W, 3) uint8 BGR."""
    pictures = [explained(scene) for scene in scenes]
    height, gap = pictures[0].shape[0], 4
    rows = -(-len(pictures) // columns)
    page_shape = (gap + rows * (height + gap), gap + min(columns, len(pictures)) * (_CELL + gap), 3)
    page = np.full(page_shape, 255, np.uint8)
    for k, picture in enumerate(pictures):
        top, left = gap + k // columns * (height + gap), gap + k % columns * (_CELL + gap)
        page[top : top + height, left : left + _CELL] = picture
    return page
