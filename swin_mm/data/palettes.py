"""Colours of things. Every kind draws from the same, so that colour says nothing about it."""

import enum

import cv2
import numpy as np


class Tone(enum.IntEnum):
    """The places of a palette that the parts of a thing are painted with."""

    BODY = 0
    ACCENT = 1
    LINE = 2
    PALE = 3
    EXTRA = 4


def from_hsv(hsv: np.ndarray) -> np.ndarray:
    """Turn (N, 3) hue in turns, saturation and value in 0..1 into (N, 3) uint8 BGR."""
    pixels = np.asarray(hsv, np.float32)[None] * np.float32([360, 1, 1])
    return np.round(cv2.cvtColor(pixels, cv2.COLOR_HSV2BGR)[0] * 255).astype(np.uint8)


def draw_palettes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw palettes of five tones, (count, 5, 3) uint8 BGR, body and accent apart in lightness."""
    hue, saturation = rng.random((count, 5)), rng.uniform(0.25, 1.0, (count, 5))
    saturation[:, [Tone.LINE, Tone.PALE]] *= 0.3
    value = rng.uniform((0.75, 0.22, 0.05, 1.0, 0.3), (1.0, 0.55, 0.2, 1.0, 1.0), (count, 5))
    swapped = rng.random(count) < 0.5
    value[swapped, :2] = value[swapped, 1::-1]
    return from_hsv(np.stack([hue, saturation, value], axis=-1).reshape(-1, 3)).reshape(count, 5, 3)


def draw_contrasting_palette(rng: np.random.Generator, behind: np.ndarray) -> np.ndarray:
    """Draw three palettes and take the one whose body is furthest from what is behind.

    Args:
        rng: the picture's generator.
        behind: mean colour of the place where the thing will be, (3,) BGR.

    Returns:
        The colour of each tone, (5, 3) uint8 BGR.
    """
    choices = draw_palettes(rng, 3)
    return choices[np.abs(choices[:, Tone.BODY] - behind).sum(axis=1).argmax()]
