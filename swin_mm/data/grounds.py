"""The empty stage of a scene: what things lie on, stand on and hang before."""

from dataclasses import dataclass

import cv2
import numpy as np

from .textures import FAR, GROUNDS, SKY, WALLS, Surface


@dataclass(frozen=True)
class Stage:
    """A picture without things.

    Attributes:
        image: (H, W, 3) uint8 BGR.
        stuff: ADE20K's value of each pixel, (H, W) uint8.
        horizon: row where the ground begins; 0 where one looks down on it.
        indoors: True if a wall stands at the horizon, so that what hangs there casts a shadow.
    """

    image: np.ndarray
    stuff: np.ndarray
    horizon: int
    indoors: bool


def _pick(rng: np.random.Generator, surfaces: tuple[Surface, ...]) -> Surface:
    return surfaces[int(rng.integers(len(surfaces)))]


def stage_from_above(rng: np.random.Generator, size: tuple[int, int], unit: float) -> Stage:
    """Look straight down on a ground, in half of the cases with a rug or a board on it."""
    width, height = size
    ground = _pick(rng, GROUNDS)
    image = ground.paint(rng, ground.pattern(rng, (height, width), unit))
    if rng.integers(2):
        image = cv2.flip(np.ascontiguousarray(image), int(rng.integers(-1, 2)))
    stuff = np.full((height, width), ground.ade_id, np.uint8)
    if rng.random() < 0.4:
        _lay_rug(rng, image, stuff, unit)
    return Stage(image, stuff, horizon=0, indoors=True)


def _lay_rug(rng: np.random.Generator, image: np.ndarray, stuff: np.ndarray, unit: float) -> None:
    """Lay a second ground over a part of the picture, with a straight rim, in place."""
    height, width = stuff.shape
    other = _pick(rng, GROUNDS)
    layer = other.paint(rng, other.pattern(rng, (height, width), unit))
    middle = rng.uniform(0.2, 0.8, 2) * (width, height)
    sides = rng.uniform(0.5, 1.1, 2) * (width, height)
    corners = cv2.boxPoints((middle.tolist(), sides.tolist(), rng.uniform(-35, 35)))
    over = np.zeros((height, width), np.uint8)
    cv2.fillPoly(over, [np.round(corners * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    rim = np.zeros_like(over)
    cv2.polylines(rim, [np.round(corners).astype(np.int32)], True, 255, max(1, round(2 * unit)))
    cv2.copyTo(cv2.convertScaleAbs(image, alpha=0.6), rim, image)
    cv2.copyTo(layer, over, image)
    stuff[over > 127] = other.ade_id


def stage_from_the_side(rng: np.random.Generator, size: tuple[int, int], unit: float) -> Stage:
    """Look at a ground that runs back to a wall, or to the sky behind something far."""
    width, height = size
    horizon = int(height * rng.uniform(0.3, 0.6))
    indoors = bool(rng.random() < 0.55)
    image = np.empty((height, width, 3), np.uint8)
    stuff = np.empty((height, width), np.uint8)
    behind = _pick(rng, WALLS) if indoors else SKY
    image[:horizon] = behind.paint(rng, behind.pattern(rng, (horizon, width), unit))
    stuff[:horizon] = behind.ade_id
    if not indoors and rng.random() < 0.8:
        _raise_ridge(rng, image[:horizon], stuff[:horizon], unit)
    ground = _pick(rng, GROUNDS)
    image[horizon:] = _recede(rng, ground, (height - horizon, width), unit)
    stuff[horizon:] = ground.ade_id
    if indoors:
        skirting = max(2, round(unit * rng.uniform(2, 7)))
        top = horizon - skirting
        image[top:horizon] = cv2.convertScaleAbs(
            image[top:horizon], alpha=0.5, beta=rng.uniform(0, 110)
        )
        image[top : top + 1] //= 2
    return Stage(image, stuff, horizon, indoors)


def _raise_ridge(
    rng: np.random.Generator, image: np.ndarray, stuff: np.ndarray, unit: float
) -> None:
    """Put hills, a hedge or a front before a sky, in place."""
    far = _pick(rng, FAR)
    height, width = stuff.shape
    knots = rng.uniform(0.25, 0.8, int(rng.integers(4, 10)))
    sharp = cv2.INTER_NEAREST if far.ade_id == 2 else cv2.INTER_CUBIC
    crest = cv2.resize(knots[None].astype(np.float32), (width, 1), interpolation=sharp)[0]
    crest = np.clip(crest, 0.1, 0.9) * height
    rows = np.arange(height, dtype=np.float32)[:, None] + 0.5
    over = np.clip(rows - crest + 0.5, 0, 1)
    layer = far.paint(rng, far.pattern(rng, (height, width), 0.8 * unit))
    image[:] = cv2.blendLinear(layer, np.ascontiguousarray(image), over, 1 - over)
    stuff[over > 0.5] = far.ade_id


def _recede(
    rng: np.random.Generator, ground: Surface, shape: tuple[int, int], unit: float
) -> np.ndarray:
    """Paint a ground in perspective, fading towards the horizon where it gets too fine."""
    height, width = shape
    flat = (int(2.2 * height), int(1.5 * width))
    grey = ground.pattern(rng, flat, 1.2 * unit)
    narrow = rng.uniform(0.22, 0.4)  # of the flat ground's width at the near edge
    lean = rng.uniform(-0.1, 0.1)
    near = np.array([0.5 - narrow + lean, 0.5 + narrow + lean]) * flat[1]
    source = np.float32([[0, 0], [flat[1], 0], [near[1], flat[0]], [near[0], flat[0]]])
    target = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    grey = cv2.warpPerspective(
        grey, cv2.getPerspectiveTransform(source, target), (width, height), flags=cv2.INTER_LINEAR
    )
    haze = float(grey.mean()) + rng.uniform(-20, 40)
    clear = np.linspace(0.35, 1.6, height, dtype=np.float32).clip(0, 1)[:, None]
    return ground.paint(rng, cv2.convertScaleAbs(haze * (1 - clear) + grey * clear))
