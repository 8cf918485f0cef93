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


def draw_palette(rng: np.random.Generator) -> np.ndarray:
    """Draw five tones, (5, 3) uint8 BGR, body and accent well apart in lightness."""
    hue, saturation = rng.random(5), rng.uniform(0.25, 1.0, 5)
    dark, bright = rng.uniform(0.22, 0.55), rng.uniform(0.75, 1.0)
    value = np.array([bright, dark, rng.uniform(0.05, 0.2), 1.0, rng.uniform(0.3, 1.0)])
    if rng.integers(2):
        value[:2] = value[1::-1]
    saturation[[Tone.LINE, Tone.PALE]] *= 0.3
    return from_hsv(np.stack([hue, saturation, value], axis=1))


def draw_contrasting_palette(rng: np.random.Generator, behind: np.ndarray) -> np.ndarray:
    """Draw three palettes and take the one whose body is furthest from what is behind.

    Args:
        rng: The picture's generator.
        behind: Mean colour of the place where the thing will be, (3,) BGR.
    """
    choices = [draw_palette(rng) for _ in range(3)]
    return max(choices, key=lambda tones: float(np.abs(tones[Tone.BODY] - behind).sum()))
