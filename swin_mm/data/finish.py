"""What a camera adds: uneven light, exposure, a little blur and noise."""

import cv2
import numpy as np

from .noise import cut, grain_sheet


def finish(rng: np.random.Generator, image: np.ndarray, unit: float) -> np.ndarray:
    """Give a drawn picture, (H, W, 3) uint8 BGR, the look of a taken one."""
    height, width = image.shape[:2]
    corners = 1 + rng.uniform(-0.22, 0.18, (3, 3, 1)) + rng.uniform(-0.04, 0.04, 3)
    gain = cv2.convertScaleAbs(corners, alpha=128)  # eight bits a factor: ten times as fast
    gain = cv2.resize(gain, (width, height), interpolation=cv2.INTER_LINEAR)
    image = cv2.multiply(image, gain, scale=1 / 128)
    if rng.random() < 0.5:
        image = cv2.GaussianBlur(image, (3, 3), unit * rng.uniform(0.4, 0.8))
    noise = cut(grain_sheet(), rng, (height, width))
    strength = rng.uniform(0.02, 0.16)
    contrast, brightness = rng.uniform(0.85, 1.15), rng.uniform(-16, 16)
    offset = 128 * (1 - contrast) + brightness - 128 * strength
    return cv2.addWeighted(image, contrast, noise, strength, offset)
