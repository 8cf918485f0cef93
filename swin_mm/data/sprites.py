"""Things as pixels: the parts of a drawing filled with colour, and laid over a picture."""

from dataclasses import dataclass

import cv2
import numpy as np

from .shapes import Drawing

_FINER = 2  # pixels of the drawing to one of the picture, each way
_SHIFT = 4  # fractional bits of the corners that OpenCV gets


@dataclass(frozen=True)
class Sprite:
    """One thing, whole, as it would look with nothing before it.

    Attributes:
        corner: column and row of the picture where its top left pixel goes; may lie outside.
        cover: how much of each pixel it covers, (h, w) float32 in 0..1.
        colour: its colour times its cover, (h, w, 3) float32 BGR in 0..255.
    """

    corner: tuple[int, int]
    cover: np.ndarray
    colour: np.ndarray


def rasterise(drawing: Drawing, matrix: np.ndarray, palette: np.ndarray) -> Sprite:
    """Fill the parts of a drawing, anti-aliased by drawing finer and averaging.

    Args:
        drawing: parts in units of the thing.
        matrix: takes units to pixels of the picture, (2, 3).
        palette: the tones' colours, (5, 3) uint8 BGR.
    """
    points = np.concatenate([ring for part in drawing for ring in part.rings])
    points = points @ matrix[:, :2].T + matrix[:, 2]
    low = np.floor(points.min(axis=0)).astype(int) - 1
    width, height = (np.ceil(points.max(axis=0)).astype(int) + 1 - low).tolist()
    # OpenCV counts from the middle of a pixel, we from its corner.
    fine = np.round(((points - low) * _FINER - 0.5) * (1 << _SHIFT)).astype(np.int32)
    paint = np.zeros((height * _FINER, width * _FINER, 3), np.uint8)
    cover = np.zeros(paint.shape[:2], np.uint8)
    first = 0
    for part in drawing:
        corners = []
        for ring in part.rings:
            corners.append(fine[first : first + len(ring)])
            first += len(ring)
        cv2.fillPoly(paint, corners, palette[part.tone].tolist(), cv2.LINE_AA, _SHIFT)
        if not part.inner:
            cv2.fillPoly(cover, corners, 255, cv2.LINE_AA, _SHIFT)
    paint = cv2.min(paint, cv2.merge([cover, cover, cover]))  # no marking leaves the silhouette
    size = (width, height)
    return Sprite(
        tuple(low.tolist()),
        cv2.resize(cover, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255,
        cv2.resize(paint, size, interpolation=cv2.INTER_AREA).astype(np.float32),
    )


def overlap(
    corner: tuple[int, int], shape: tuple[int, int], frame: tuple[int, int]
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where a patch and the picture meet: slices of the picture, and of the patch."""
    inside, within = [], []
    for start, length, limit in zip(corner[::-1], shape, frame, strict=True):
        first, last = max(0, start), max(0, start, min(limit, start + length))
        inside.append(slice(first, last))
        within.append(slice(first - start, last - start))
    return tuple(inside), tuple(within)


def paste(image: np.ndarray, sprite: Sprite) -> None:
    """Paint a sprite over a picture, (H, W, 3) uint8, in place."""
    inside, within = overlap(sprite.corner, sprite.cover.shape, image.shape[:2])
    behind = image[inside].astype(np.float32)
    cover = sprite.cover[within]
    if cover.size:
        mixed = behind * (1 - cover)[..., None] + sprite.colour[within]
        image[inside] = cv2.convertScaleAbs(mixed)
