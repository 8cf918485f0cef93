"""Things as pixels: parts filled with colour, then grain, light and shadow."""

from dataclasses import dataclass

import cv2
import numpy as np

from .noise import clouds
from .shapes import Drawing

_FINER = 2  # pixels of the drawing to one of the picture, each way
_SHIFT = 4  # fractional bits of the corners that OpenCV gets


@dataclass(frozen=True)
class Sprite:
    """One thing, whole, as it would look with nothing before it.

    Attributes:
        corner: Column and row of the picture where its top left pixel goes; may lie outside.
        cover: How much of each pixel it covers, (h, w) float32 in 0..1.
        colour: Its light times its cover, (h, w, 3) float32 BGR in 0..255.
    """

    corner: tuple[int, int]
    cover: np.ndarray
    colour: np.ndarray


@dataclass(frozen=True)
class Light:
    """Where the light of a scene comes from.

    Attributes:
        direction: Unit vector towards the light: right, down, towards the viewer.
        ambient: What a surface turned away still gets, 0..1.
        gloss: Strength of highlights, 0..1.
    """

    direction: tuple[float, float, float]
    ambient: float
    gloss: float


def draw_light(rng: np.random.Generator) -> Light:
    """Draw a light from above the horizon, left or right."""
    turn, height = rng.uniform(-0.42, -0.08), rng.uniform(0.35, 0.8)
    flat = np.sqrt(1 - height**2)
    direction = (flat * np.cos(2 * np.pi * turn), flat * np.sin(2 * np.pi * turn), height)
    return Light(tuple(map(float, direction)), rng.uniform(0.45, 0.7), rng.uniform(0.0, 0.45))


def rasterise(drawing: Drawing, matrix: np.ndarray, palette: np.ndarray) -> Sprite:
    """Fill the parts of a drawing, anti-aliased by drawing finer and averaging.

    Args:
        drawing: Parts in units of the thing.
        matrix: Takes units to pixels of the picture, (2, 3).
        palette: The tones' colours, (5, 3) uint8 BGR.
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
        cv2.fillPoly(paint, corners, palette[part.tone].tolist(), cv2.LINE_8, _SHIFT)
        if not part.inner:
            cv2.fillPoly(cover, corners, 255, cv2.LINE_8, _SHIFT)
    paint = cv2.min(paint, cv2.merge([cover, cover, cover]))  # no marking leaves the silhouette
    size = (width, height)
    return Sprite(
        tuple(low.tolist()),
        cv2.resize(cover, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255,
        cv2.resize(paint, size, interpolation=cv2.INTER_AREA).astype(np.float32),
    )


def normals(cover: np.ndarray, roundness: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Guess the surface of a thing from its silhouette.

    It rises from the rim like a quarter circle: a disc becomes a ball, a ring
    a torus, a bar a cylinder; with a small roundness only the rim is bevelled.

    Returns:
        The unit normal's right, down and towards-the-viewer parts, each (h, w).
    """
    inside = cv2.copyMakeBorder((cover > 0.5).astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT)
    depth = cv2.distanceTransform(inside, cv2.DIST_L2, 5)[1:-1, 1:-1]
    radius = max(2.0, roundness * float(depth.max()))
    rise = 1 - np.minimum(depth / radius, 1)
    surface = radius * np.sqrt(1 - rise * rise)
    surface = cv2.GaussianBlur(surface, (0, 0), max(0.8, 0.12 * radius))
    right = cv2.Sobel(surface, cv2.CV_32F, 1, 0, ksize=3, scale=-1 / 8)
    down = cv2.Sobel(surface, cv2.CV_32F, 0, 1, ksize=3, scale=-1 / 8)
    towards = 1 / np.sqrt(right * right + down * down + 1)
    return right * towards, down * towards, towards


def lit(sprite: Sprite, light: Light, roundness: float, rng: np.random.Generator) -> Sprite:
    """Give a sprite a grained surface and light it (Lambert's shade and Blinn's highlight)."""
    right, down, towards = normals(sprite.cover, roundness)
    x, y, z = light.direction
    facing = np.maximum(x * right + y * down + z * towards, 0)
    shade = light.ambient + (1.25 - light.ambient) * facing
    zoom = rng.uniform(0.6, 3.0)
    grain = clouds(rng, sprite.cover.shape, across=zoom, down=zoom * rng.uniform(0.6, 2.5))
    shade *= 1 + (grain.astype(np.float32) - 128) * (rng.uniform(0.0, 0.35) / 128)
    halfway = [float(part / np.sqrt(2 * (z + 1))) for part in (x, y, z + 1)]
    gleam = np.maximum(halfway[0] * right + halfway[1] * down + halfway[2] * towards, 0)
    gleam = cv2.pow(gleam, 24) * sprite.cover * (255 * light.gloss)
    colour = cv2.multiply(sprite.colour, cv2.merge([shade, shade, shade]))
    colour = cv2.add(colour, cv2.merge([gleam, gleam, gleam]))
    return Sprite(sprite.corner, sprite.cover, colour)


def overlap(
    corner: tuple[int, int], shape: tuple[int, int], frame: tuple[int, int]
) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where a patch and the picture meet: slices of the picture, and of the patch."""
    inside, within = [], []
    for start, length, limit in zip(corner[::-1], shape, frame, strict=True):
        first, last = max(0, start), max(0, start, min(limit, start + length))
        last = max(first, last)
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
