"""Grounds and backdrops: grey patterns, and the surfaces that colour them.

A pattern is one channel of 0..255, a surface a ramp of colours through which
the pattern is looked up: cheap, and any pattern can be worn in any light.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from .noise import clouds, grain
from .palettes import from_hsv

Pattern = Callable[[np.random.Generator, tuple[int, int], float], np.ndarray]


def _mix(base: np.ndarray, noise: np.ndarray, strength: float) -> np.ndarray:
    """Add noise of mean 128 to a pattern."""
    return cv2.addWeighted(base, 1, noise, strength, -128 * strength)


def _outer(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return cv2.convertScaleAbs(rows.astype(np.float32)[:, None] + columns.astype(np.float32))


def plaster(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Soft blotches."""
    zoom = unit * rng.uniform(0.8, 4)
    return clouds(rng, shape, across=zoom, down=zoom)


def grit(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Sand or tar: fine grain over blotches."""
    fine = grain(rng, shape)
    return _mix(plaster(rng, shape, unit), fine, rng.uniform(0.4, 0.9))


def planks(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Boards along x with their own lightness, grain and butt joints."""
    height, width = shape
    board = max(6, round(unit * rng.uniform(16, 34)))
    across, down = unit * rng.uniform(5, 9), unit * rng.uniform(0.4, 0.8)
    pattern = clouds(rng, shape, across=across, down=down)
    count = height // board + 1
    offset = np.repeat(rng.normal(0, 26, count), board)[:height]
    offset[::board] -= 90
    pattern = cv2.convertScaleAbs(pattern.astype(np.float32) * 0.6 + (50 + offset)[:, None])
    for row in range(count):
        joint = int(rng.integers(width))
        pattern[row * board : (row + 1) * board, joint : joint + 2] //= 3
    return pattern


def checks(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """A chessboard of stone."""
    side = unit * rng.uniform(18, 44)
    rows, columns = (np.arange(length) // side % 2 for length in shape)
    board = cv2.convertScaleAbs(np.float32(rows[:, None] != columns) * 110 + 70)
    return _mix(board, clouds(rng, shape, across=unit, down=unit), 0.35)


def tiles(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Square tiles in light joints or dark ones."""
    side = max(8, round(unit * rng.uniform(18, 40)))
    line, joint = max(1, round(unit * rng.uniform(0.8, 2))), rng.choice([20, 235])
    cells = rng.normal(128, 18, (shape[0] // side + 1, shape[1] // side + 1))
    cells = cv2.convertScaleAbs(cells).repeat(side, 0).repeat(side, 1)[: shape[0], : shape[1]]
    pattern = _mix(cells, clouds(rng, shape, across=unit, down=unit), 0.25)
    for first in range(line):
        pattern[first::side] = joint
        pattern[:, first::side] = joint
    return pattern


def bricks(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Courses of bricks, every other one moved by half a brick."""
    course = max(5, round(unit * rng.uniform(9, 18)))
    brick, line = round(course * rng.uniform(1.8, 2.6)), max(1, round(0.9 * unit))
    wide = np.arange(shape[1] + brick)
    rows = []
    for _ in range(shape[0] // course + 1):
        shift = (len(rows) % 2) * (brick // 2)
        tone = np.repeat(rng.normal(120, 22, len(wide) // brick + 1), brick)[: len(wide)]
        tone[wide % brick < line] = 225
        rows.append(tone[shift : shift + shape[1]])
    pattern = np.repeat(cv2.convertScaleAbs(np.array(rows)), course, axis=0)[: shape[0]]
    for first in range(line):
        pattern[first::course] = 225
    return _mix(pattern, clouds(rng, shape, across=0.7 * unit, down=0.7 * unit), 0.3)


def blades(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Grass: short upright streaks over soft patches."""
    fine = grain(rng, (shape[0] // 4 + 1, shape[1]))
    streaks = cv2.resize(fine, shape[::-1], interpolation=cv2.INTER_CUBIC)
    return _mix(plaster(rng, shape, unit), streaks, rng.uniform(0.5, 0.9))


def ripples(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Water: noise drawn out along x."""
    across, down = unit * rng.uniform(3, 6), unit * rng.uniform(0.5, 0.9)
    return clouds(rng, shape, across=across, down=down)


def weave(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """A rug: bands and a fine weave."""
    period = unit * rng.uniform(14, 40)
    band = 45 * np.sign(np.sin(np.arange(shape[0]) * (2 * np.pi / period) + rng.random()))
    columns = 128 + 14 * np.sin(np.arange(shape[1]) * (np.pi / max(1.2, 1.5 * unit)))
    return _mix(_outer(band, columns), clouds(rng, shape, across=0.7, down=0.7), 0.25)


def stripes(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """Wallpaper or a curtain's folds: upright waves, soft or sharp."""
    period, sharp = unit * rng.uniform(10, 40), rng.uniform(1, 6)
    wave = np.sin(np.arange(shape[1]) * (2 * np.pi / period) + rng.uniform(0, 6))
    columns = 128 + 60 * np.tanh(sharp * wave) / np.tanh(sharp)
    base = _outer(np.zeros(shape[0]), columns)
    return _mix(base, clouds(rng, shape, across=unit, down=3 * unit), 0.2)


def leaves(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """A hedge: small clumps, each lit from above, in gentle shade."""
    zoom = unit * rng.uniform(0.45, 0.7)
    blobs = clouds(rng, shape, across=zoom, down=zoom)
    fall = np.float64([[1, 0, unit], [0, 1, 3 * unit]])
    below = cv2.warpAffine(blobs, fall, shape[::-1], borderMode=cv2.BORDER_REFLECT)
    lit = cv2.subtract(blobs, below)
    return cv2.addWeighted(lit, 1.6, plaster(rng, shape, unit), 0.5, 10)


def windows(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """A front with rows of windows, some of them lit."""
    wide, high = (max(10, round(unit * rng.uniform(22, 40))) for _ in range(2))
    pattern = clouds(rng, shape, across=unit, down=unit) // 4 + 120
    for top in range(high // 4, shape[0], high):
        for left in range(wide // 4, shape[1], wide):
            pattern[top : top + high // 2, left : left + wide // 2] = rng.choice([20, 40, 250])
    return pattern


def sky(rng: np.random.Generator, shape: tuple[int, int], unit: float) -> np.ndarray:
    """A gradient down to the horizon under clouds, thick or thin."""
    across, down = unit * rng.uniform(3, 6), unit * rng.uniform(1.5, 3)
    veil = clouds(rng, shape, across=across, down=down)
    veil = cv2.convertScaleAbs(np.maximum(veil.astype(np.float32) - rng.uniform(100, 170), 0))
    fall = cv2.convertScaleAbs(np.linspace(20, rng.uniform(90, 150), shape[0]))
    return cv2.addWeighted(np.repeat(fall, shape[1], axis=1), 1, veil, rng.uniform(0.4, 1.2), 0)


@dataclass(frozen=True)
class Surface:
    """Something that a ground or a backdrop is made of.

    Attributes:
        ade_id: value in ADE20K's label pictures.
        pattern: draws its grey pattern.
        hue: the range of hues of its colours, in turns.
        saturation: the range of their saturations.
        value: the lightness of its dark end and of its bright end.
    """

    ade_id: int
    pattern: Pattern
    hue: tuple[float, float] = (0.0, 1.0)
    saturation: tuple[float, float] = (0.05, 0.5)
    value: tuple[float, float] = (0.3, 0.85)

    def paint(self, rng: np.random.Generator, grey: np.ndarray) -> np.ndarray:
        """Colour a pattern of this surface, (h, w) uint8 to (h, w, 3) uint8 BGR."""
        hue = rng.uniform(*self.hue) + np.array([0, rng.normal(0, 0.03)])
        saturation = rng.uniform(*self.saturation) * np.array([1, rng.uniform(0.6, 1)])
        value = np.array(self.value) * rng.uniform(0.9, 1.3)
        ends = from_hsv(np.stack([hue % 1, saturation, np.minimum(value, 1)], axis=1))
        ramp = np.linspace(ends[0], ends[1], 256).round().astype(np.uint8)
        return cv2.applyColorMap(grey, ramp[:, None])


_WOOD, _GREEN, _BLUE, _SAND = (0.04, 0.11), (0.2, 0.38), (0.52, 0.66), (0.08, 0.14)

GROUNDS = (
    Surface(4, planks, _WOOD, (0.25, 0.65), (0.2, 0.85)),  # floor
    Surface(4, checks),
    Surface(4, tiles),
    Surface(10, blades, _GREEN, (0.3, 0.75), (0.12, 0.75)),  # grass
    Surface(7, grit, (0.0, 1.0), (0.0, 0.12), (0.2, 0.6)),  # road
    Surface(47, grit, _SAND, (0.2, 0.5), (0.45, 0.95)),  # sand
    Surface(14, plaster, (0.03, 0.1), (0.25, 0.6), (0.2, 0.65)),  # earth
    Surface(12, bricks, (0.0, 0.1), (0.05, 0.45), (0.3, 0.8)),  # sidewalk
    Surface(29, weave, (0.0, 1.0), (0.2, 0.7), (0.25, 0.85)),  # rug
    Surface(22, ripples, (0.45, 0.62), (0.25, 0.6), (0.2, 0.8)),  # water
)
WALLS = (
    Surface(1, plaster, (0.0, 1.0), (0.03, 0.35), (0.5, 0.9)),  # wall
    Surface(1, bricks, (0.0, 0.08), (0.2, 0.6), (0.3, 0.75)),
    Surface(1, stripes, (0.0, 1.0), (0.1, 0.5), (0.45, 0.9)),
    Surface(1, tiles, (0.0, 1.0), (0.03, 0.4), (0.4, 0.95)),
    Surface(19, stripes, (0.0, 1.0), (0.3, 0.8), (0.15, 0.75)),  # curtain
)
SKY = Surface(3, sky, _BLUE, (0.15, 0.6), (0.55, 1.0))
FAR = (
    Surface(5, leaves, _GREEN, (0.3, 0.7), (0.05, 0.55)),  # tree
    Surface(17, plaster, (0.3, 0.7), (0.1, 0.35), (0.25, 0.6)),  # mountain
    Surface(2, windows, (0.0, 0.15), (0.05, 0.4), (0.2, 0.75)),  # building
)
