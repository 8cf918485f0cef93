"""One picture of the offline world, drawn from a seed: things on a stage, in one light."""

from dataclasses import dataclass

import cv2
import numpy as np

from .finish import finish
from .grounds import Stage, stage_from_above, stage_from_the_side
from .kinds import KINDS, Kind
from .palettes import draw_contrasting_palette
from .shapes import SHAPES
from .sprites import (
    Light,
    Sprite,
    cast_lying,
    cast_standing,
    draw_light,
    lit,
    overlap,
    paste,
    rasterise,
)

_DIAGONAL_UNIT = 277.0  # px, the side of a square as large as 320x240: sizes are told in it
_LEAST_VISIBLE = 0.3  # of a thing's area; what shows less is left out
_LEAST_PIXELS = 16  # that a thing covers by half or more
_EMPTY, _GRAY, _CROWDED = 0.02, 0.01, 0.06  # shares of the pictures


@dataclass(frozen=True)
class Thing:
    """What shows of one thing, or of a crowd of things of one kind.

    Attributes:
        kind: What it is.
        corner: Column and row of the picture where `cover` begins.
        cover: Its visible share of each pixel, (h, w) float32 in 0..1, wholly inside the picture.
        crowd: True for a group that is told as one.
    """

    kind: Kind
    corner: tuple[int, int]
    cover: np.ndarray
    crowd: bool

    def mask(self, size: tuple[int, int]) -> np.ndarray:
        """The pixels that it covers by half or more, (H, W) bool for a size of (W, H) px."""
        mask = np.zeros(size[::-1], bool)
        (column, row), (height, width) = self.corner, self.cover.shape
        mask[row : row + height, column : column + width] = self.cover >= 0.5
        return mask


@dataclass(frozen=True)
class Scene:
    """One picture and all that is known about it.

    Attributes:
        image: (H, W, 3) uint8 BGR, or (H, W) for a picture without colour.
        things: From back to front.
        stuff: ADE20K's value of the ground and the backdrop behind all things, (H, W) uint8.
    """

    image: np.ndarray
    things: tuple[Thing, ...]
    stuff: np.ndarray

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, px."""
        return self.stuff.shape[1], self.stuff.shape[0]

    def labels(self) -> np.ndarray:
        """ADE20K's label picture, (H, W) uint8; 0 where nothing covers half of a pixel."""
        labels, left = self.stuff.copy(), np.ones(self.stuff.shape, np.float32)
        for thing in self.things:
            (column, row), (height, width) = thing.corner, thing.cover.shape
            left[row : row + height, column : column + width] -= thing.cover
        labels[left < 0.5] = 0
        for thing in self.things:
            (column, row), (height, width) = thing.corner, thing.cover.shape
            part = labels[row : row + height, column : column + width]
            part[thing.cover >= 0.5] = thing.kind.ade_id
        return labels


@dataclass(frozen=True)
class _Pose:
    """Where a thing is: its middle, its size (px), its turn (radians) and how it is held up."""

    middle: tuple[float, float]
    side: float
    turn: float
    standing: bool
    height: float  # px over what is behind it; nothing is behind it where negative


def render_scene(seed: int, index: int, size: tuple[int, int] = (320, 240)) -> Scene:
    """Draw the scene that a seed and an index stand for.

    Args:
        seed: Of the data set, >= 0.
        index: Of the picture, >= 0. Pictures of different indices are independent.
        size: Width and height, px.
    """
    rng = np.random.default_rng([seed, index])
    unit = float(np.sqrt(size[0] * size[1])) / _DIAGONAL_UNIT
    stand = bool(rng.random() < 0.5)
    stage = (stage_from_the_side if stand else stage_from_above)(rng, size, unit)
    light, image = draw_light(rng), np.ascontiguousarray(stage.image)
    groups = _draw_groups(rng, stage, size, unit)
    sprites = [
        [_draw_sprite(rng, kind, pose, image, light) for pose in poses] for kind, poses in groups
    ]
    things = []
    for (kind, poses), members, cover in zip(groups, sprites, _visible(sprites, size), strict=True):
        if cover is None:
            continue
        for pose, sprite in zip(poses, members, strict=True):
            _cast(image, sprite, pose, light)
            paste(image, sprite)
        things.append(Thing(kind, *cover, crowd=len(poses) > 1))
    image = finish(rng, image, unit)
    if rng.random() < _GRAY:
        image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return Scene(image, tuple(things), stage.stuff)


def _draw_groups(
    rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float
) -> list[tuple[Kind, list[_Pose]]]:
    """Draw what there is and where, from back to front; a group of many is a crowd."""
    if rng.random() < _EMPTY:
        return []
    count = int(rng.choice([1, 2, 3, 4, 5], p=[0.12, 0.25, 0.3, 0.21, 0.12]))
    poses: list[_Pose] = []
    for _ in range(count):
        tries = [_draw_pose(rng, stage, size, unit) for _ in range(4)]
        poses.append(min(tries, key=lambda pose: _closeness(pose, poses)))
    if stage.horizon:
        poses.sort(key=lambda pose: (pose.standing, pose.middle[1] + pose.side / 2))
    groups = [(KINDS[int(rng.integers(len(KINDS)))], [pose]) for pose in poses]
    if rng.random() < _CROWDED:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        groups.insert(0, (kind, _draw_crowd(rng, stage, size, unit)))
    return groups


def _draw_pose(rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float) -> _Pose:
    width, height = size
    side = unit * (rng.uniform(26, 45) if rng.random() < 0.1 else rng.uniform(52, 140))
    if not stage.horizon:
        middle = rng.uniform(0.1, 0.9, 2) * (width, height)
        return _Pose(
            tuple(middle), side, rng.uniform(0, 2 * np.pi), False, unit * rng.uniform(2, 9)
        )
    column, turn = rng.uniform(0.08, 0.92) * width, rng.normal(0, 0.16)
    if rng.random() < 0.7:
        depth = rng.random()  # 0 at the wall, 1 at the viewer
        side *= 0.75 + 0.45 * depth
        foot = stage.horizon + (0.08 + 0.9 * depth) * (height - stage.horizon)
        return _Pose((column, foot - 0.45 * side), side, 0.5 * turn, True, 0.0)
    row = rng.uniform(0.15, 0.9) * stage.horizon
    over = unit * rng.uniform(3, 10) if stage.indoors else -1.0
    return _Pose((column, row), 0.8 * side, 2 * turn, False, over)


def _closeness(pose: _Pose, others: list[_Pose]) -> float:
    """How deep a pose sits in others: 0 apart, 1 on the same spot."""
    gaps = [
        np.hypot(pose.middle[0] - other.middle[0], pose.middle[1] - other.middle[1])
        / (0.5 * (pose.side + other.side))
        for other in others
    ]
    return max([0.0, *(1 - gap for gap in gaps)])


def _draw_crowd(
    rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float
) -> list[_Pose]:
    """Draw a heap of six to twelve small poses."""
    seat = _draw_pose(rng, stage, size, unit)
    side = unit * rng.uniform(18, 34)
    spots = rng.normal(0, 1, (int(rng.integers(6, 13)), 2)) * (1.5 * side, 0.5 * side)
    spots = np.sort(spots, axis=0)[rng.permutation(len(spots))]
    spots = spots[np.argsort(spots[:, 1])] + seat.middle
    height = seat.height and unit * 2
    return [
        _Pose(tuple(spot), side * rng.uniform(0.85, 1.15), seat.turn, seat.standing, height)
        for spot in spots
    ]


def _draw_sprite(
    rng: np.random.Generator, kind: Kind, pose: _Pose, image: np.ndarray, light: Light
) -> Sprite:
    """Draw a thing of a kind, as lit on its own."""
    turn = np.array(
        [[np.cos(pose.turn), -np.sin(pose.turn)], [np.sin(pose.turn), np.cos(pose.turn)]]
    )
    stretch = np.array([[rng.uniform(0.85, 1.1), rng.uniform(-0.1, 0.1)], [0, 1]])
    matrix = np.column_stack([pose.side * turn @ stretch, pose.middle])
    half = max(2, int(pose.side / 2))
    place, _ = overlap(
        (int(pose.middle[0]) - half, int(pose.middle[1]) - half),
        (2 * half, 2 * half),
        image.shape[:2],
    )
    behind = np.array(cv2.mean(image[place])[:3]) if image[place].size else np.full(3, 128.0)
    palette = draw_contrasting_palette(rng, behind)
    return lit(rasterise(SHAPES[kind.name](rng), matrix, palette), light, kind.roundness, rng)


def _visible(
    groups: list[list[Sprite]], size: tuple[int, int]
) -> list[tuple[tuple[int, int], np.ndarray] | None]:
    """What shows of each group, looking from the front; None for what shows too little."""
    clear = np.ones(size[::-1], np.float32)
    seen: list[tuple[tuple[int, int], np.ndarray] | None] = []
    for members in reversed(groups):
        spots = [overlap(s.corner, s.cover.shape, clear.shape) for s in members]
        top, left = (min(inside[axis].start for inside, _ in spots) for axis in (0, 1))
        bottom, right = (max(inside[axis].stop for inside, _ in spots) for axis in (0, 1))
        place = np.s_[top:bottom, left:right]
        before = clear[place].copy()
        for sprite, (inside, within) in zip(members, spots, strict=True):
            clear[inside] *= 1 - sprite.cover[within]
        cover = before - clear[place]
        least = _LEAST_VISIBLE * float(members[0].cover.sum())
        if cover.sum() < least or np.count_nonzero(cover >= 0.5) < _LEAST_PIXELS:
            clear[place] = before
            seen.append(None)
        else:
            seen.append(((left, top), cover))
    return seen[::-1]


def _cast(image: np.ndarray, sprite: Sprite, pose: _Pose, light: Light) -> None:
    if pose.standing:
        cast_standing(image, sprite, light)
    elif pose.height >= 0:
        cast_lying(image, sprite, light, pose.height)
