import numpy as np
import pytest
from pycocotools import mask as coco_mask

from swin_mm.data.outlines import area, polygons, run_lengths


def decoded(parts: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    coded = coco_mask.frPyObjects([part.reshape(-1).tolist() for part in parts], *shape)
    return coco_mask.decode(coco_mask.merge(coded)).astype(bool)


def disc(radius: float, middle: tuple[float, float], shape: tuple[int, int]) -> np.ndarray:
    rows, columns = np.indices(shape) + 0.5
    distance = np.hypot(columns - middle[0], rows - middle[1])
    return np.clip(radius + 0.5 - distance, 0, 1).astype(np.float32)


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    return (one & other).sum() / (one | other).sum()


def test_a_block_of_pixels_is_outlined_along_their_edges():
    cover = np.zeros((6, 8), np.float32)
    cover[2:5, 1:7] = 1
    (part,) = polygons(cover, (10, 20))
    assert part.min(axis=0) == pytest.approx([11, 22], abs=0.2)
    assert part.max(axis=0) == pytest.approx([17, 25], abs=0.2)


def test_the_area_of_a_disc_is_right_to_a_hundredth():
    assert area(polygons(disc(20, (30, 30), (60, 60)), (0, 0))) == pytest.approx(
        400 * np.pi, rel=0.01
    )


def test_a_hole_stays_a_hole():
    ring = disc(20, (30, 30), (60, 60)) - disc(8, (30, 30), (60, 60))
    parts = polygons(ring, (0, 0))
    assert len(parts) == 1
    assert area(parts) == pytest.approx((400 - 64) * np.pi, rel=0.015)
    assert overlap(decoded(parts, (60, 60)), ring >= 0.5) > 0.97


def test_two_holes_stay_two_holes():
    plate = np.ones((40, 80), np.float32)
    plate -= disc(8, (20, 20), (40, 80)) + disc(8, (60, 20), (40, 80))
    parts = polygons(plate, (0, 0))
    assert len(parts) == 1
    assert overlap(decoded(parts, (40, 80)), plate >= 0.5) > 0.97


def test_a_thing_in_two_pieces_gets_two_polygons():
    cover = disc(20, (30, 30), (60, 60))
    cover[:, 25:35] = 0
    parts = polygons(cover, (0, 0))
    assert len(parts) == 2
    assert overlap(decoded(parts, (60, 60)), cover >= 0.5) > 0.97


def test_nothing_has_no_outline():
    assert polygons(np.zeros((5, 5), np.float32), (0, 0)) == []


def test_polygons_of_scenes_cover_what_is_visible(scenes):
    overlaps = []
    for scene in scenes[:150]:
        for thing in scene.things:
            parts = polygons(thing.cover, thing.corner)
            mask = thing.mask(scene.size)
            if not thing.crowd and mask.sum() > 100:
                overlaps.append(overlap(decoded(parts, mask.shape), mask))
    assert len(overlaps) > 200
    assert min(overlaps) > 0.85
    assert np.mean(np.array(overlaps) > 0.9) > 0.99
    assert np.mean(overlaps) > 0.97


@pytest.mark.parametrize("first", [False, True])
def test_run_lengths_are_read_back_by_pycocotools(first):
    mask = np.random.default_rng(0).random((13, 17)) < 0.4
    mask[0, 0] = first
    coded = run_lengths(mask)
    assert coded["counts"][0] == (0 if first else np.flatnonzero(mask.T)[0])
    assert np.array_equal(coco_mask.decode(coco_mask.frPyObjects(coded, *mask.shape)), mask)
