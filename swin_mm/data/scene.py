"""One picture of the offline world, drawn from a seed: things on a stage, in one light."""

from dataclasses import dataclass

import cv2
import numpy as np

from .arrangement import Pose, draw_groups
from .finish import finish
from .grounds import stage_from_above, stage_from_the_side
from .kinds import Kind
from .lighting import Light, draw_light, lit
from .occlusion import visible
from .palettes import draw_contrasting_palette
from .shadows import cast_lying, cast_standing
from .shapes import SHAPES
from .sprites import Sprite, overlap, paste, rasterise

_DIAGONAL_UNIT = 277.0  # px, the side of a square as large as 320x240: sizes are told in it
_GRAY = 0.01  # share of the pictures without colour


@dataclass(frozen=True)
class Thing:
    """What shows of one thing, or of a crowd of things of one kind.

    Attributes:
        kind: what it is.
        corner: column and row of the picture where `cover` begins.
        cover: its visible share of each pixel, (h, w) float32 in 0..1, wholly inside the picture.
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
        things: from back to front.
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


def render_scene(seed: int, index: int, size: tuple[int, int] = (320, 240)) -> Scene:
    """Draw the scene that a seed and an index stand for.

    Args:
        seed: of the data set, >= 0.
        index: of the picture, >= 0. Pictures of different indices are independent.
        size: width and height, px.

    Returns:
        The picture and what is known about it: the same for the same three arguments.
    """
    rng = np.random.default_rng([seed, index])
    unit = float(np.sqrt(size[0] * size[1])) / _DIAGONAL_UNIT
    stand = bool(rng.random() < 0.5)
    stage = (stage_from_the_side if stand else stage_from_above)(rng, size, unit)
    light, image = draw_light(rng), np.ascontiguousarray(stage.image)
    groups = draw_groups(rng, stage, size, unit)
    sprites = [
        [_draw_sprite(rng, group.kind, pose, image, light) for pose in group.poses]
        for group in groups
    ]
    things = []
    for group, members, seen in zip(groups, sprites, visible(sprites, size), strict=True):
        if seen is None:
            continue
        for pose, sprite in zip(group.poses, members, strict=True):
            _cast(image, sprite, pose, light)
            paste(image, sprite)
        things.append(Thing(group.kind, *seen, crowd=len(members) > 1))
    image = finish(rng, image, unit)
    if rng.random() < _GRAY:
        image = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return Scene(image, tuple(things), stage.stuff)


def _draw_sprite(
    rng: np.random.Generator, kind: Kind, pose: Pose, image: np.ndarray, light: Light
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


def _cast(image: np.ndarray, sprite: Sprite, pose: Pose, light: Light) -> None:
    if pose.standing:
        cast_standing(image, sprite, light)
    elif pose.height >= 0:
        cast_lying(image, sprite, light, pose.height)
