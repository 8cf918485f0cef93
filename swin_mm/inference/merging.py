"""Instances of tiles become instances of the picture: none twice, none cut where one is whole.

Two findings of one class in two tiles are one object if, within what both tiles see, their masks
overlap by more than half (IoU). An object that the border of one tile cuts is thereby compared by
the piece that this tile shows. Where there are only boxes, that of a piece can be much less than
the same part of the whole's box: a triangle's tip, a slanted line. There a small overlap is enough
if both go on alike past what the tiles share, which two objects side by side do as well, so each
finding is matched once, with the one that fits best.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from swin_mm.inference.instances import Instances, gather
from swin_mm.inference.tiles import Tile

_SAME = 0.5  # IoU within what both tiles see, above which two findings are one object
_PIECE = 0.1  # of the smaller of two boxes that go on alike, above which they are one object
_BORDER = 0.01  # of a tile's side: a box that comes as near to an inner border is cut by it


@dataclass(frozen=True)
class _Findings:
    """All findings in a row, with the tile and the state of each."""

    all: Instances
    tile: np.ndarray  # (n,) number of the tile
    cut: np.ndarray  # (n,) whether an inner border of the tile cuts it


def merge(tiles: Sequence[Tile], found: Sequence[Instances]) -> Instances:
    """Merge the instances of tiles.

    Of the findings of one object, the surest of those that are whole in their tile stays. If all
    are cut, the object is larger than the overlap: they are joined, masks by their union, the box
    around all. The score is the best of all. Two findings of one tile are never one object: that
    was decided there.

    Args:
        tiles: of a picture.
        found: what was found in each, in px of the picture.

    Returns:
        The instances, the surest first.
    """
    findings = _Findings(
        gather(found),
        np.repeat(np.arange(len(tiles)), [len(one) for one in found]),
        np.concatenate([_cut(tile, one) for tile, one in zip(tiles, found, strict=True)]),
    )
    same: dict[int, list[int]] = defaultdict(list)
    for one, other in _pairs(tiles, findings):
        same[one].append(other)
        same[other].append(one)
    merged = [_one_of(findings, group) for group in _groups(findings, same)]
    if not merged:
        return findings.all
    together = gather(merged)
    return together.pick(np.argsort(-together.scores, kind="stable"))


def _cut(tile: Tile, found: Instances) -> np.ndarray:
    """Say which instances a border of their tile cuts that is none of the picture, (n,) bool."""
    left, top, right, bottom = tile.corners
    near_x, near_y = _BORDER * (right - left), _BORDER * (bottom - top)
    x0, y0, x1, y1 = found.boxes.T
    return (
        ((x0 <= left + near_x) & (left > 0))
        | ((y0 <= top + near_y) & (top > 0))
        | ((x1 >= right - near_x) & (right < found.width))
        | ((y1 >= bottom - near_y) & (bottom < found.height))
    )


def _pairs(tiles: Sequence[Tile], findings: _Findings) -> Iterator[tuple[int, int]]:
    """Find the pairs of findings that are one object: of two tiles, each at most with one."""
    of_tile = [np.flatnonzero(findings.tile == number) for number in range(len(tiles))]
    for first, second in _neighbours(tiles):
        corners = tiles[first].corners, tiles[second].corners
        view = _intersection(*corners)
        ones, others = (
            numbers[_overlaps(findings.all.boxes[numbers], view)]
            for numbers in (of_tile[first], of_tile[second])
        )
        boxes, labels = findings.all.boxes, findings.all.labels
        shared, smaller = _box_overlaps(boxes[ones], boxes[others], view)
        near = labels[ones][:, None] == labels[others][None]
        if findings.all.masks is None:
            near &= (shared > _SAME) | (
                (smaller > _PIECE) & _go_on(boxes[ones], boxes[others], corners)
            )
        else:
            for row, column in zip(*np.nonzero(near & (shared > 0)), strict=True):
                shared[row, column] = _mask_iou(findings.all, ones[row], others[column], view)
            near &= shared > _SAME
        for row, column in _best(np.where(near, shared, 0)):
            yield int(ones[row]), int(others[column])


def _best(shared: np.ndarray) -> Iterator[tuple[int, int]]:
    """Match rows with columns, (n, m), the largest first, each once."""
    rows, columns = np.nonzero(shared)
    taken_rows, taken_columns = set(), set()
    for number in np.argsort(-shared[rows, columns], kind="stable"):
        row, column = int(rows[number]), int(columns[number])
        if row not in taken_rows and column not in taken_columns:
            taken_rows.add(row)
            taken_columns.add(column)
            yield row, column


def _neighbours(tiles: Sequence[Tile]) -> Iterator[tuple[int, int]]:
    """Pairs of tiles that see a part of the picture both."""
    rows: dict[int, list[int]] = defaultdict(list)  # by where they begin
    for number, tile in enumerate(tiles):
        rows[tile.rows.start].append(number)
    starts = sorted(rows)
    for place, start in enumerate(starts):
        bottom = tiles[rows[start][0]].rows.stop
        below = [one for later in starts[place + 1 :] if later < bottom for one in rows[later]]
        yield from (pair for pair in combinations(rows[start], 2) if _touch(tiles, *pair))
        yield from (
            (one, other) for one in rows[start] for other in below if _touch(tiles, one, other)
        )


def _touch(tiles: Sequence[Tile], one: int, other: int) -> bool:
    left, top, right, bottom = _intersection(tiles[one].corners, tiles[other].corners)
    return left < right and top < bottom


def _intersection(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> tuple[int, int, int, int]:
    left, top = max(one[0], other[0]), max(one[1], other[1])
    return left, top, min(one[2], other[2]), min(one[3], other[3])


def _overlaps(boxes: np.ndarray, view: tuple[int, int, int, int]) -> np.ndarray:
    left, top, right, bottom = view
    x0, y0, x1, y1 = boxes.T
    return (x0 < right) & (x1 > left) & (y0 < bottom) & (y1 > top)


def _box_overlaps(
    ones: np.ndarray, others: np.ndarray, view: tuple[int, int, int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """IoU of boxes (n, 4) and (m, 4) within a view, and the share of the smaller, (n, m) both."""
    low, high = np.array(view[:2]), np.array(view[2:])
    (a0, a1), (b0, b1) = (
        (boxes[:, :2].clip(low, high), boxes[:, 2:].clip(low, high)) for boxes in (ones, others)
    )
    sides = np.minimum(a1[:, None], b1[None]) - np.maximum(a0[:, None], b0[None])
    shared = sides.clip(min=0).prod(-1)
    a, b = (a1 - a0).prod(-1)[:, None], (b1 - b0).prod(-1)[None]
    union, smaller = (
        np.divide(shared, areas, out=np.zeros_like(shared), where=areas > 0)
        for areas in (a + b - shared, np.minimum(a, b))
    )
    return union, smaller


def _go_on(
    ones: np.ndarray, others: np.ndarray, corners: Sequence[tuple[int, int, int, int]]
) -> np.ndarray:
    """Say which boxes (n, 4) and (m, 4) of two tiles go on alike past what both see, (n, m).

    What crosses a border of one tile inside the other is cut by it in the first and goes past it
    in the second. Where both tiles end together, neither knows more than the other.
    """
    alike, past = np.ones((len(ones), len(others)), bool), np.zeros((len(ones), 1), bool)
    for side, (one, other) in enumerate(zip(*corners, strict=True)):
        if one == other:
            continue
        inward = 1 if side < 2 else -1  # left and top, or right and bottom
        line = inward * max(inward * one, inward * other)
        slack = _BORDER * min(tile[side % 2 + 2] - tile[side % 2] for tile in corners)
        reach, reached = (inward * (boxes[:, side] - line) <= slack for boxes in (ones, others))
        alike &= reach[:, None] == reached[None]
        past |= reach[:, None]
    return alike & past


def _mask_iou(found: Instances, one: int, other: int, view: tuple[int, int, int, int]) -> float:
    assert found.masks is not None
    a, b = found.masks[one], found.masks[other]
    left, top = max(view[0], min(a.left, b.left)), max(view[1], min(a.top, b.top))
    right, bottom = min(view[2], max(a.right, b.right)), min(view[3], max(a.bottom, b.bottom))
    if left >= right or top >= bottom:
        return 0.0
    window = (left, top, right, bottom)
    first, second = a.within(*window), b.within(*window)
    union = np.count_nonzero(first | second)
    return np.count_nonzero(first & second) / union if union else 0.0


def _groups(findings: _Findings, same: dict[int, list[int]]) -> Iterator[list[int]]:
    """Gather the findings of each object, begun by the surest whole one, or else the surest."""
    order = np.lexsort((-findings.all.scores, findings.cut))
    free = set(order.tolist())
    for seed in order.tolist():
        if seed not in free:
            continue
        free.discard(seed)
        group, tiles, ahead = [seed], {int(findings.tile[seed])}, deque([seed])
        while ahead:
            for other in sorted(same[ahead.popleft()], key=lambda one: -findings.all.scores[one]):
                if other in free and int(findings.tile[other]) not in tiles:
                    free.discard(other)
                    tiles.add(int(findings.tile[other]))
                    group.append(other)
                    ahead.append(other)
        yield group


def _one_of(findings: _Findings, group: list[int]) -> Instances:
    """Make one instance of the findings of one object; the first of them leads."""
    lead, all_of = findings.all.pick(group[:1]), findings.all.pick(group)
    best = replace(lead, scores=all_of.scores.max(keepdims=True))
    if not findings.cut[group[0]]:
        return best
    around = [*all_of.boxes[:, :2].min(0), *all_of.boxes[:, 2:].max(0)]
    masks = None if lead.masks is None else (lead.masks[0].joined(list(all_of.masks[1:])),)
    return replace(best, boxes=np.array([around]), masks=masks)
