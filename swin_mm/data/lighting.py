"""The light of a scene, and how the surfaces of things answer it."""

from dataclasses import dataclass

import cv2
import numpy as np

from .noise import clouds
from .sprites import Sprite


@dataclass(frozen=True)
class Light:
    """Where the light of a scene comes from.

    Attributes:
        direction: unit vector towards the light: right, down, towards the viewer.
        ambient: what a surface turned away still gets, 0..1.
        gloss: strength of highlights, 0..1.
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
