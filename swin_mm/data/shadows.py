"""Shadows that things cast on what is painted already."""

import cv2
import numpy as np

from .lighting import Light
from .sprites import Sprite, overlap


def cast_lying(image: np.ndarray, sprite: Sprite, light: Light, height: float) -> None:
    """Darken what lies under a thing, `height` px below it, in place."""
    blur = max(0.8, 0.35 * height)
    pad = int(3 * blur) + 2
    spread = cv2.copyMakeBorder(sprite.cover, pad, pad, pad, pad, cv2.BORDER_CONSTANT)
    spread = cv2.GaussianBlur(spread, (0, 0), blur)
    x, y, z = light.direction
    corner = (
        sprite.corner[0] - pad - round(height * x / z),
        sprite.corner[1] - pad - round(height * y / z),
    )
    _darken(image, corner, spread, light)


def cast_standing(image: np.ndarray, sprite: Sprite, light: Light) -> None:
    """Lay the shadow of a standing thing on the ground behind it, in place."""
    rows, columns = sprite.cover.shape
    lean, fall = -1.1 * light.direction[0], 0.35
    pad = 8 + int(rows * abs(lean))
    blur = max(0.8, 0.02 * rows)
    # A point `up` px above the foot falls `fall * up` px further back and `lean * up` aside.
    matrix = np.array([[1, -lean, lean * (rows - 1) + pad], [0, fall, (1 - fall) * (rows - 1) + 2]])
    size = (columns + 2 * pad, rows + 8)
    spread = cv2.warpAffine(sprite.cover, matrix, size)
    spread = cv2.GaussianBlur(spread, (0, 0), blur)
    _darken(image, (sprite.corner[0] - pad, sprite.corner[1] - 2), spread, light)


def _darken(image: np.ndarray, corner: tuple[int, int], spread: np.ndarray, light: Light) -> None:
    inside, within = overlap(corner, spread.shape, image.shape[:2])
    if spread[within].size:
        depth = 0.75 * (1 - light.ambient)
        keep = cv2.convertScaleAbs(spread[within], alpha=-255 * depth, beta=255)
        image[inside] = cv2.multiply(image[inside], cv2.merge([keep, keep, keep]), scale=1 / 255)
