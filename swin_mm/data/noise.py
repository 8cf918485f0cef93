"""Sheets of noise, made once in a process and cut at random places.

Drawing fresh noise for each picture would cost more than all the rest of it;
a sheet is the same in every process, and which part of it a picture gets is
the picture's own draw.
"""

import functools

import cv2
import numpy as np

_SPARE = 512  # px that a sheet is longer than its period, so that most cuts are plain slices
_SHEET_SEED = 20170901  # any number: it only has to stay the same


@functools.cache
def grain_sheet() -> np.ndarray:
    """White noise in three channels, mean 128 and deviation 40, (1024, 1024, 3) uint8."""
    rng = np.random.default_rng(_SHEET_SEED)
    # The sum of four even draws is bell-shaped enough, and much quicker than a true normal.
    draws = rng.integers(0, 256, (4, 512, 512, 3), np.uint8)
    noise = draws.sum(axis=0, dtype=np.float32)
    return _repeated(cv2.convertScaleAbs(noise, alpha=40 / 148, beta=128 - 510 * 40 / 148))


@functools.cache
def cloud_sheet() -> np.ndarray:
    """Fractal noise, seven octaves with halving strength, (1536, 1536) uint8, mean 128."""
    rng, side = np.random.default_rng(_SHEET_SEED + 1), 1024
    total = np.zeros((side, side), np.float32)
    for octave in range(7):
        cells = 8 << octave
        grid = rng.random((cells, cells), np.float32) - 0.5
        grid = np.pad(grid, 2, mode="wrap")  # so that the sheet has no seam
        step = side // cells
        wide = cv2.resize(grid, None, fx=step, fy=step, interpolation=cv2.INTER_CUBIC)
        total += wide[2 * step : -2 * step, 2 * step : -2 * step] * 0.5**octave
    total = (total - total.mean()) / total.std()
    return _repeated(np.clip(128 + 52 * total, 0, 255).astype(np.uint8))


def _repeated(sheet: np.ndarray) -> np.ndarray:
    return cv2.copyMakeBorder(sheet, 0, _SPARE, 0, _SPARE, cv2.BORDER_WRAP)


def cut(sheet: np.ndarray, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Cut a random piece, of (H, W) px, out of a sheet; mirrored as often as not.

    It may be a view of the sheet: to be read only.
    """
    (height, width), side = shape, len(sheet) - _SPARE
    top, left, mirrored = rng.integers(0, (side, side, 2)).tolist()
    if max(top + height, left + width) <= len(sheet):
        piece = sheet[top : top + height, left : left + width]
    else:
        rows = np.arange(top, top + height) % side
        columns = np.arange(left, left + width) % side
        piece = sheet[rows][:, columns]
    return cv2.flip(piece, 1) if mirrored else piece


def grain(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """White noise of one channel, (H, W) uint8."""
    return cv2.extractChannel(cut(grain_sheet(), rng, shape), 0)


def clouds(
    rng: np.random.Generator, shape: tuple[int, int], *, across: float, down: float
) -> np.ndarray:
    """Fractal noise stretched `across` and `down` times, (H, W) uint8."""
    source = (max(2, round(shape[0] / down)), max(2, round(shape[1] / across)))
    piece = cut(cloud_sheet(), rng, source)
    return cv2.resize(piece, shape[::-1], interpolation=cv2.INTER_LINEAR)
