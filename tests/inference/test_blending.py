import numpy as np
import pytest
import torch

from swin_mm.inference import pixel_scores
from swin_mm.inference.blending import Blender, label
from swin_mm.inference.pixel_scores import PixelScores
from swin_mm.inference.tiles import Grid, Tile


def decide(scores):
    return scores.argmax(0).numpy()


def tiles_of(grid):
    return [Tile(rows, columns) for rows in grid.rows for columns in grid.columns]


def crop(scores, tile):
    left, top, right, bottom = tile.corners
    return scores[:, top:bottom, left:right]


def as_scores(part):
    return PixelScores([part], *part.shape[1:], False, False)


def blended(grid, parts, *, decide=decide):
    blender = Blender(grid, decide, dtype=np.uint8)
    for tile, part in zip(tiles_of(grid), parts, strict=True):
        blender.add(tile, as_scores(part))
    return blender


def ramp(span, length, overlap):
    """A tile's weights along one side, written down place by place."""
    weights = []
    for place in range(span.start, span.stop):
        weight = 1.0
        if span.own_start > 0:
            weight = min(max((place - span.own_start + 1) / (overlap + 1), 0), 1)
        if span.stop < length and place >= span.stop - overlap:
            weight = (span.stop - place) / (overlap + 1)
        weights.append(weight)
    return torch.tensor(weights)


GRIDS = [Grid(40, 57, 16, 4), Grid(40, 40, 16, 8), Grid(17, 16, 16, 1), Grid(9, 70, 16, 5)]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_tiles_that_agree_give_what_the_whole_gives(grid):
    scores = torch.randn(5, grid.height, grid.width)
    found = blended(grid, [crop(scores, tile) for tile in tiles_of(grid)]).labels
    assert np.array_equal(found, decide(scores))


@pytest.mark.parametrize("held", [1, 2**24], ids=["row by row", "at once"])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_tiles_that_differ_are_averaged_by_weights_that_fall_to_their_borders(
    grid, held, monkeypatch
):
    monkeypatch.setattr(pixel_scores, "_HELD", held)
    parts = [torch.randn(3, *crop(torch.zeros(1, grid.height, grid.width), tile).shape[1:])
             for tile in tiles_of(grid)]  # fmt: skip
    total, weights = torch.zeros(3, grid.height, grid.width), torch.zeros(grid.height, grid.width)
    for tile, part in zip(tiles_of(grid), parts, strict=True):
        weight = ramp(tile.rows, grid.height, grid.overlap)[:, None] * ramp(
            tile.columns, grid.width, grid.overlap
        )
        crop(total, tile).add_(part * weight)
        crop(weights[None], tile)[0].add_(weight)
    torch.testing.assert_close(weights, torch.ones_like(weights))
    best = total.topk(2, 0).values
    clear = (best[0] - best[1] > 0.01).numpy()  # what waits, waits in half precision
    found = blended(grid, parts).labels
    assert clear.mean() > 0.95
    assert np.array_equal(found[clear], decide(total)[clear])


def test_nothing_is_held_but_the_overlaps():
    grid = Grid(64, 64, 32, 8)
    blender, most = Blender(grid, decide, dtype=np.uint8), 0
    for tile in tiles_of(grid):
        blender.add(tile, as_scores(torch.randn(3, 32, 32)))
        held = [one for one in (blender._beside, *blender._above.values()) if one is not None]
        assert all(one.dtype == torch.float16 for one in held)
        most = max(most, sum(one.numel() for one in held))
    assert most <= 3 * 8 * (64 + 32)
    assert blender._beside is None and not blender._above


def test_scores_past_half_precisions_range_wait_as_its_largest():
    grid = Grid(8, 24, 16, 8)
    blender = Blender(grid, decide, dtype=np.uint8)
    for tile in tiles_of(grid):
        scores = torch.stack([torch.full((8, 16), 1e9), torch.full((8, 16), -1e9)])
        blender.add(tile, as_scores(scores))
        if blender._beside is not None:
            assert blender._beside.isfinite().all()
    assert not blender.labels.any()


def test_a_whole_picture_is_labelled_in_bands(monkeypatch):
    scores, asked = torch.randn(4, 12, 9), []

    def note(part):
        asked.append(part.shape[1])
        return decide(part)

    monkeypatch.setattr(pixel_scores, "_HELD", 4 * 9 * 5)
    found = label(as_scores(scores), note, dtype=np.uint16)
    assert asked == [5, 5, 2] and found.dtype == np.uint16
    assert np.array_equal(found, decide(scores))
