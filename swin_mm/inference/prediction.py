"""What is in a picture, looked at whole or by tiles, alone or in a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from swin_mm.inference.blending import Blender, label
from swin_mm.inference.errors import PictureError
from swin_mm.inference.instances import Instances
from swin_mm.inference.merging import merge
from swin_mm.inference.options import Options
from swin_mm.inference.pixel_scores import PixelScores
from swin_mm.inference.predictor import Packed, Predictor
from swin_mm.inference.tiles import Grid, Tile

Tick = Callable[[int, int], None]  # is told how many tiles are done, and of how many


@dataclass(frozen=True)
class Prediction:
    """What was found in one picture.

    Attributes:
        instances: a detector's, of the classes that are kept.
        labels: a segmentor's, (H, W); see :func:`label_type`.
        sample: the host's data sample that `instances` come from, `None` if they are of tiles.
    """

    instances: Instances | None = None
    labels: np.ndarray | None = None
    sample: Any = None


def label_type(classes: int) -> type[np.integer]:
    """The type of labels: its greatest number stands for what is of no class that is kept."""
    return np.uint8 if classes < 256 else np.uint16


def predict(
    predictor: Predictor,
    pictures: Sequence[np.ndarray],
    options: Options,
    *,
    tick: Tick = lambda done, total: None,
) -> list[Prediction | PictureError]:
    """Look at pictures.

    Those that come out of the pipeline in one size go through the network together, so that a
    batch changes no result; a tiled picture's tiles do likewise.

    Args:
        predictor: looks at them.
        pictures: as :meth:`Predictor.read` returns them, a batch.
        options: checked ones.
        tick: is told of tiles.

    Returns:
        Of each picture what was found, or why nothing could be.
    """
    results: list[Prediction | PictureError | None] = [None] * len(pictures)
    kinds: dict[tuple, list[tuple[int, Packed]]] = {}
    for place, picture in enumerate(pictures):
        try:
            side = options.tile_for(*picture.shape[:2])
            if side:
                results[place] = _by_tiles(predictor, picture, options, side, tick)
            else:
                packed = predictor.pack(picture)
                kinds.setdefault(packed.kind, []).append((place, packed))
        except PictureError as error:
            results[place] = error
    for alike in kinds.values():
        places, packed = zip(*alike, strict=True)
        for place, result in zip(places, _whole(predictor, packed, options), strict=True):
            results[place] = result
    return [result for result in results if result is not None]


def _whole(
    predictor: Predictor, pictures: Sequence[Packed], options: Options
) -> Iterator[Prediction | PictureError]:
    """Look at pictures of one kind, each whole; one by one if memory does not suffice for all."""
    keep = options.kept_labels(predictor.classes)
    try:
        if predictor.finds_instances:
            for one, sample in zip(pictures, predictor.find(pictures), strict=True):
                if options.classes:
                    sample.pred_instances = _of(sample.pred_instances, keep)
                found = Instances.of(sample, size=(one.height, one.width))
                yield Prediction(instances=found, sample=sample)
        else:
            decide, dtype = _decision(predictor, keep)
            for scores in predictor.score(pictures):
                yield Prediction(labels=label(scores, decide, dtype=dtype))
    except PictureError as error:
        if len(pictures) == 1:
            yield error
            return
        for one in pictures:
            yield from _whole(predictor, [one], options)


def _of(found: Any, labels: Sequence[int]) -> Any:
    """Keep the host's instances of some classes."""
    return found[np.flatnonzero(np.isin(found.labels.numpy(), labels))]


def _decision(
    predictor: Predictor, keep: Sequence[int]
) -> tuple[Callable[[Tensor], np.ndarray], type[np.integer]]:
    """How scores become labels, where only some labels are kept, and the type of these."""
    dtype = label_type(len(predictor.classes.names))
    table = np.full(len(predictor.classes.names), np.iinfo(dtype).max, dtype)
    table[list(keep)] = keep
    return lambda scores: table[predictor.decide(scores)], dtype


def _by_tiles(
    predictor: Predictor, picture: np.ndarray, options: Options, side: int, tick: Tick
) -> Prediction:
    """Look at a picture tile by tile, and merge what is found."""
    height, width = picture.shape[:2]
    assert options.overlap is not None
    grid = Grid(height, width, side, options.overlap)
    keep = options.kept_labels(predictor.classes)
    if predictor.finds_instances:
        tiles, found = [], []
        for tile, sample in _tiles(predictor.find, predictor, picture, grid, options, tick):
            left, top, _, _ = tile.corners
            parts = Instances.of(sample, size=(height, width), left=left, top=top)
            tiles.append(tile)
            found.append(parts.with_labels(keep))
        return Prediction(instances=merge(tiles, found))
    decide, dtype = _decision(predictor, keep)
    blender = Blender(grid, decide, dtype=dtype)
    scores: PixelScores
    for tile, scores in _tiles(predictor.score, predictor, picture, grid, options, tick):
        blender.add(tile, scores)
    return Prediction(labels=blender.labels)


def _tiles(
    look: Callable[[list[Packed]], list],
    predictor: Predictor,
    picture: np.ndarray,
    grid: Grid,
    options: Options,
    tick: Tick,
) -> Iterator[tuple[Tile, Any]]:
    """Look at the tiles of a picture in order, those of one size in batches."""
    tiles = [Tile(rows, columns) for rows in grid.rows for columns in grid.columns]
    for first in range(0, len(tiles), options.batch_size):
        tick(first, len(tiles))
        batch = tiles[first : first + options.batch_size]
        packed = [predictor.pack(_crop(picture, tile)) for tile in batch]
        yield from zip(batch, look(packed), strict=True)
    tick(len(tiles), len(tiles))


def _crop(picture: np.ndarray, tile: Tile) -> np.ndarray:
    left, top, right, bottom = tile.corners
    return picture[top:bottom, left:right]
