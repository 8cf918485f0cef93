import cv2
import numpy as np
import pytest

from swin_mm.inference.cutouts import Cutout
from swin_mm.inference.instances import Instances
from swin_mm.inference.merging import merge
from swin_mm.inference.tiles import Grid, Span, Tile

GRID = Grid(100, 180, 100, 20)  # two tiles: columns 0 to 100 and 80 to 180
LEFT, RIGHT = (Tile(GRID.rows[0], columns) for columns in GRID.columns)


def seen(tile, *objects, masks=True, size=(100, 180)):
    """What a tile shows of objects (left, top, right, bottom, label, score)."""
    x0, y0, x1, y1 = tile.corners
    boxes, cutouts, labels, scores = [], [], [], []
    for left, top, right, bottom, label, score in objects:
        box = [max(left, x0), max(top, y0), min(right, x1), min(bottom, y1)]
        boxes.append(box)
        inside = np.ones((box[3] - box[1], box[2] - box[0]), bool)
        cutouts.append(Cutout.of(inside, left=box[0], top=box[1]))
        labels.append(label)
        scores.append(score)
    return Instances(
        *size,
        np.array(boxes, float).reshape(-1, 4),
        np.array(labels, int),
        np.array(scores, float),
        tuple(cutouts) if masks else None,
    )


with_and_without_masks = pytest.mark.parametrize("masks", [True, False], ids=["masks", "boxes"])


@with_and_without_masks
def test_an_object_in_the_overlap_is_kept_once_with_its_best_score(masks):
    found = [seen(tile, (84, 40, 96, 60, 0, score), masks=masks)
             for tile, score in ((LEFT, 0.6), (RIGHT, 0.8))]  # fmt: skip
    merged = merge([LEFT, RIGHT], found)
    assert merged.boxes.tolist() == [[84, 40, 96, 60]]
    assert merged.scores.tolist() == [0.8]


@with_and_without_masks
def test_a_whole_object_is_preferred_to_its_surer_half(masks):
    car = (85, 40, 140, 60, 0)  # the left tile sees 15 of its 55 px: by plain NMS, two cars
    half = (85, 38, 140, 60, 0)
    found = [seen(LEFT, (*half, 0.9), masks=masks), seen(RIGHT, (*car, 0.6), masks=masks)]
    merged = merge([LEFT, RIGHT], found)
    assert merged.boxes.tolist() == [[85, 40, 140, 60]]
    assert merged.scores.tolist() == [0.9]
    if masks:
        assert np.count_nonzero(merged.masks[0].pixels()) == 55 * 20


@with_and_without_masks
def test_an_object_that_every_tile_cuts_is_joined(masks):
    train = (30, 40, 150, 60, 0)
    found = [seen(LEFT, (*train, 0.5), masks=masks), seen(RIGHT, (*train, 0.7), masks=masks)]
    merged = merge([LEFT, RIGHT], found)
    assert merged.boxes.tolist() == [[30, 40, 150, 60]]
    assert merged.scores.tolist() == [0.7]
    if masks:
        assert np.count_nonzero(merged.masks[0].pixels()) == 120 * 20


def test_two_findings_of_a_tile_stay_two_whatever_other_tiles_saw():
    tiles = [Tile(Span(y, y + 20, y), Span(x, x + 20, x)) for x, y in ((0, 0), (10, 0), (0, 10))]
    found = [  # the second tile's is one with the first's first, the third's with its second
        seen(tiles[0], (10, 0, 20, 12, 0, 0.9), (12, 10, 20, 20, 0, 0.5), size=(40, 40)),
        seen(tiles[1], (10, 0, 20, 20, 0, 0.6), size=(40, 40)),
        seen(tiles[2], (12, 10, 20, 20, 0, 0.6), size=(40, 40)),
    ]
    assert len(merge(tiles, found)) == 2


def test_an_object_across_four_tiles_is_joined():
    grid = Grid(180, 180, 100, 20)
    tiles = [Tile(rows, columns) for rows in grid.rows for columns in grid.columns]
    lake = (20, 30, 160, 170, 2, 0.5)
    merged = merge(tiles, [seen(tile, lake, size=(180, 180)) for tile in tiles])
    assert merged.boxes.tolist() == [[20, 30, 160, 170]]
    assert np.count_nonzero(merged.masks[0].pixels()) == 140 * 140


@with_and_without_masks
def test_objects_of_other_classes_and_other_places_stay(masks):
    one, other, elsewhere = (
        (84, 40, 96, 60, 0, 0.6),
        (84, 40, 96, 60, 1, 0.8),
        (84, 5, 96, 25, 0, 1),
    )
    found = [seen(LEFT, one, masks=masks), seen(RIGHT, other, elsewhere, masks=masks)]
    merged = merge([LEFT, RIGHT], found)
    assert merged.labels.tolist() == [0, 1, 0]
    assert merged.scores.tolist() == [1, 0.8, 0.6]


def test_masks_decide_where_boxes_overlap():
    upper = np.tri(20, 12, dtype=bool)
    boxes, common = np.array([[84.0, 40, 96, 60]]), (np.array([0]), np.array([0.9]))
    ones, others = (
        Instances(100, 180, boxes, *common, (Cutout.of(mask, left=84, top=40),))
        for mask in (upper, ~upper)
    )
    assert len(merge([LEFT, RIGHT], [ones, others])) == 2
    assert len(merge([LEFT, RIGHT], [ones, ones])) == 1


def test_what_one_tile_tells_apart_is_never_one():
    twins = (84, 40, 96, 60, 0, 0.9), (85, 40, 97, 60, 0, 0.8)
    assert len(merge([LEFT, RIGHT], [seen(LEFT, *twins), seen(RIGHT)])) == 2
    assert len(merge([LEFT, RIGHT], [seen(LEFT, *twins), seen(RIGHT, *twins)])) == 2


@pytest.mark.parametrize(
    ("whole", "half", "tile"),
    [
        ((0, 0, 96, 60), (0, 0, 96, 62), LEFT),
        ((84, 40, 180, 100), (84, 38, 180, 100), RIGHT),
    ],
    ids=["left", "right"],
)
def test_what_touches_the_pictures_own_border_is_not_cut(whole, half, tile):
    found = [
        seen(one, (*whole, 0, 0.5) if one is tile else (*half, 0, 0.9)) for one in (LEFT, RIGHT)
    ]
    assert merge([LEFT, RIGHT], found).boxes.tolist() == [list(whole)]


@with_and_without_masks
def test_nothing_found_is_nothing_merged(masks):
    merged = merge([LEFT, RIGHT], [seen(LEFT, masks=masks), seen(RIGHT, masks=masks)])
    assert len(merged) == 0 and merged.boxes.shape == (0, 4)


def test_empty_masks_and_boxes_without_an_area_do_no_harm():
    flat = Instances(100, 180, np.array([[90.0, 50, 90, 50]]), np.array([0]), np.array([0.1]),
                     (Cutout.of(np.zeros((2, 2), bool)),))  # fmt: skip
    assert len(merge([LEFT, RIGHT], [flat, flat])) == 2


def pieces(tile, *objects):
    """Boxes alone, tight around what a tile shows of objects, each a picture of its pixels."""
    left, top, right, bottom = tile.corners
    boxes = []
    for pixels in objects:
        rows, columns = np.nonzero(pixels[top:bottom, left:right])
        if len(rows):
            boxes.append([columns.min() + left, rows.min() + top,
                          columns.max() + 1 + left, rows.max() + 1 + top])  # fmt: skip
    labels, scores = np.zeros(len(boxes), int), np.linspace(0.9, 0.5, len(boxes))
    return Instances(100, 180, np.array(boxes, float).reshape(-1, 4), labels, scores, None)


def drawn(*corners, size=(100, 180), line=False):
    pixels, points = np.zeros(size, np.uint8), np.array(corners, np.int32)
    cv2.polylines(pixels, [points], False, 1, 5) if line else cv2.fillPoly(pixels, [points], 1)
    return pixels


@pytest.mark.parametrize(
    "pixels",
    [
        drawn((60, 60), (84, 20), (108, 60)),  # its left half fits the left tile, not the right
        drawn((70, 20), (98, 48), line=True),
        drawn((70, 20), (88, 78), line=True),
        drawn((30, 5), (120, 95), line=True),  # larger than what both see
        drawn((10, 95), (90, 10), (170, 95)),
    ],
    ids=["triangle", "line", "steep line", "long line", "large triangle"],
)
def test_the_box_of_a_piece_may_be_less_than_the_wholes_box_in_view(pixels):
    merged = merge([LEFT, RIGHT], [pieces(tile, pixels) for tile in (LEFT, RIGHT)])
    rows, columns = np.nonzero(pixels)
    whole = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert merged.boxes.tolist() == [whole]


@pytest.mark.parametrize("step", [8, 14, 20])
def test_neighbours_of_one_class_stay_apart_though_their_boxes_overlap(step):
    trains = [(30, 10 + down, 150, 30 + down, 0, score) for down, score in ((0, 0.6), (step, 0.9))]
    found = [seen(LEFT, *trains, masks=False), seen(RIGHT, *trains[::-1], masks=False)]
    assert sorted(merge([LEFT, RIGHT], found).boxes.tolist()) == [list(one[:4]) for one in trains]


def test_a_whole_small_object_is_no_piece_of_a_large_one():
    small, large = (84, 45, 94, 55, 0, 0.9), (30, 10, 150, 90, 0, 0.5)
    found = [seen(LEFT, large, masks=False), seen(RIGHT, small, masks=False)]
    assert len(merge([LEFT, RIGHT], found)) == 2


def test_two_whole_objects_in_view_are_one_by_iou_alone():
    small, large = (84, 45, 94, 55, 0, 0.9), (84, 40, 96, 60, 0, 0.5)
    found = [seen(LEFT, large, masks=False), seen(RIGHT, small, masks=False)]
    assert len(merge([LEFT, RIGHT], found)) == 2
