"""Who stands where: the things of a scene and their poses, from back to front."""

from dataclasses import dataclass

import numpy as np

from .grounds import Stage
from .kinds import KINDS, Kind

_COUNTS = (0.12, 0.25, 0.3, 0.21, 0.12)  # shares of the scenes with one to five things
_EMPTY, _CROWDED = 0.02, 0.06  # shares of the scenes with nothing, and with a crowd besides


@dataclass(frozen=True)
class Pose:
    """Where a thing is: its middle, its size (px), its turn (radians) and what holds it up."""

    middle: tuple[float, float]
    side: float
    turn: float
    standing: bool
    height: float  # px over what is behind it; nothing is behind it where negative


@dataclass(frozen=True)
class Group:
    """A thing, or a crowd of things of one kind that is told as one."""

    kind: Kind
    poses: tuple[Pose, ...]


def draw_groups(
    rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float
) -> list[Group]:
    """Draw what there is and where, from back to front.

    Things keep apart where they can, so that they overlap but seldom vanish.

    Args:
        rng: the picture's generator.
        stage: what they lie on, stand on or hang before.
        size: width and height of the picture, px.
        unit: px to one unit of size, 1 for a picture of 320x240 px.
    """
    if rng.random() < _EMPTY:
        return []
    count = 1 + int(rng.choice(len(_COUNTS), p=_COUNTS))
    poses: list[Pose] = []
    for _ in range(count):
        tries = [_draw_pose(rng, stage, size, unit) for _ in range(4)]
        poses.append(min(tries, key=lambda pose: _closeness(pose, poses)))
    if stage.horizon:
        poses.sort(key=lambda pose: (pose.standing, pose.middle[1] + pose.side / 2))
    groups = [Group(_draw_kind(rng), (pose,)) for pose in poses]
    if rng.random() < _CROWDED:
        groups.insert(0, Group(_draw_kind(rng), _draw_crowd(rng, stage, size, unit)))
    return groups


def _draw_kind(rng: np.random.Generator) -> Kind:
    return KINDS[int(rng.integers(len(KINDS)))]


def _draw_pose(rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float) -> Pose:
    width, height = size
    side = unit * (rng.uniform(26, 45) if rng.random() < 0.1 else rng.uniform(52, 140))
    if not stage.horizon:
        middle = rng.uniform(0.1, 0.9, 2) * (width, height)
        return Pose(tuple(middle), side, rng.uniform(0, 2 * np.pi), False, unit * rng.uniform(2, 9))
    column, turn = rng.uniform(0.08, 0.92) * width, rng.normal(0, 0.16)
    if rng.random() < 0.7:
        depth = rng.random()  # 0 at the wall, 1 at the viewer
        side *= 0.75 + 0.45 * depth
        foot = stage.horizon + (0.08 + 0.9 * depth) * (height - stage.horizon)
        return Pose((column, foot - 0.45 * side), side, 0.5 * turn, True, 0.0)
    row = rng.uniform(0.15, 0.9) * stage.horizon
    over = unit * rng.uniform(3, 10) if stage.indoors else -1.0
    return Pose((column, row), 0.8 * side, 2 * turn, False, over)


def _closeness(pose: Pose, others: list[Pose]) -> float:
    """How deep a pose sits in others: 0 apart, 1 on the same spot."""
    gaps = [
        np.hypot(pose.middle[0] - other.middle[0], pose.middle[1] - other.middle[1])
        / (0.5 * (pose.side + other.side))
        for other in others
    ]
    return max([0.0, *(1 - gap for gap in gaps)])


def _draw_crowd(
    rng: np.random.Generator, stage: Stage, size: tuple[int, int], unit: float
) -> tuple[Pose, ...]:
    """Draw a row of six to twelve small poses, the lower ones before the upper ones."""
    seat, side = _draw_pose(rng, stage, size, unit), unit * rng.uniform(20, 36)
    count = int(rng.integers(6, 13))
    along = (np.arange(count) - (count - 1) / 2) * 0.6 * side
    rows = rng.normal(0, 0.45 * side, count)
    spots = np.stack([along, rows], axis=1)[np.argsort(rows)] + seat.middle
    sides, height = side * rng.uniform(0.85, 1.15, count), min(seat.height, 2 * unit)
    return tuple(
        Pose(tuple(spot), float(own), seat.turn, seat.standing, height)
        for spot, own in zip(spots, sides, strict=True)
    )
