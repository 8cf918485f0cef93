import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as coco_mask

from swin_mm.inference.cutouts import Cutout

MASKS = arrays.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9)))


def whole(cutout, height, width):
    return cutout.within(0, 0, width, height)


@given(MASKS)
def test_a_mask_comes_back_as_it_was(mask):
    assert np.array_equal(whole(Cutout.of(mask), *mask.shape), mask)


@given(MASKS)
def test_the_rle_is_pycocotools_own(mask):
    theirs = coco_mask.encode(np.asfortranarray(mask, np.uint8))
    ours = Cutout.of(mask).rle(*mask.shape)
    assert ours == {"size": theirs["size"], "counts": theirs["counts"].decode()}


@given(MASKS, st.integers(0, 5), st.integers(0, 5))
def test_the_mask_of_a_tile_lies_where_the_tile_does(mask, left, top):
    picture = np.zeros((16, 17), bool)
    picture[top : top + mask.shape[0], left : left + mask.shape[1]] = mask
    cutout = Cutout.of(mask, left=left, top=top)
    assert np.array_equal(whole(cutout, 16, 17), picture)
    assert np.array_equal(coco_mask.decode(cutout.rle(16, 17)), picture)
    assert np.array_equal(cutout.within(3, 2, 9, 12), picture[2:12, 3:9])


@given(MASKS, MASKS)
def test_joined_masks_are_their_union(one, other):
    joined = Cutout.of(one, left=2).joined([Cutout.of(other, top=5)])
    expected = np.zeros((20, 20), bool)
    expected[: one.shape[0], 2 : 2 + one.shape[1]] |= one
    expected[5 : 5 + other.shape[0], : other.shape[1]] |= other
    assert np.array_equal(whole(joined, 20, 20), expected)


def test_a_small_mask_in_a_large_picture_takes_little():
    mask = np.ones((50, 60), bool)
    cutout = Cutout.of(mask, left=19_900, top=19_900)
    assert len(cutout.packed) < 100
    rle = cutout.rle(20_000, 20_000)
    assert coco_mask.area(rle) == 3000
    assert coco_mask.toBbox(rle).tolist() == [19_900, 19_900, 60, 50]


@pytest.mark.parametrize("place", [(0, 0), (7, 3)])
def test_an_empty_mask_is_empty_everywhere(place):
    empty = Cutout.of(np.zeros((4, 5), bool), left=place[0], top=place[1])
    assert not empty.pixels().size and not whole(empty, 12, 12).any()
    assert coco_mask.area(empty.rle(12, 12)) == 0
    assert empty.joined([empty]) == empty
