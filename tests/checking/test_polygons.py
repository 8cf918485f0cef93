"""Outlines that lose surface by crossing themselves are found, and no others."""

import math

import numpy as np
import pytest

from swin_mm.checking import polygons
from swin_mm.checking.polygons import (
    check_mask,
    counts_of,
    crosses_itself,
    fault_of_numbers,
    misdrawn,
)

SIZE = (64, 48)
SQUARE = np.array([[10, 10], [30, 10], [30, 30], [10, 30]], float)
BOW_TIE = SQUARE[[0, 2, 1, 3]]


def star(points, step):
    angles = 2 * math.pi * step * np.arange(points) / points
    return 30 + 20 * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def rules(segmentation):
    return [fault.rule for fault in check_mask(segmentation, SIZE, "file.json", "annotation 1")]


def test_only_crossing_outlines_cross():
    assert not crosses_itself(SQUARE)
    assert not crosses_itself(SQUARE[:3])
    assert not crosses_itself(star(7, 1))
    arrow = np.array([[10, 10], [30, 20], [10, 30], [15, 20]], float)
    assert not crosses_itself(arrow)  # the line of a side meets others, the side does not
    assert crosses_itself(BOW_TIE)
    assert crosses_itself(star(5, 2))
    doubled = np.repeat(SQUARE, 2, axis=0)  # a point twice is no crossing
    assert not crosses_itself(doubled)
    spike = np.array([[10, 10], [30, 10], [50, 10], [30, 10], [30, 30], [10, 30]], float)
    assert not crosses_itself(spike)  # there and back along a line


@pytest.mark.parametrize("turns", [1, -1])
@pytest.mark.parametrize("side", [2, 3, 40, 4000, 1e7])
def test_a_simple_outline_loses_nothing(turns, side):
    outline = star(12, 1)[::turns] * side / 40
    assert misdrawn(outline) < 0.05
    assert misdrawn(outline - 2 * outline.max()) < 0.05  # wherever it lies


def test_what_is_lost_is_measured():
    assert misdrawn(BOW_TIE) > 0.9  # both halves are drawn, the order encloses nothing
    pentagram = star(5, 2)
    assert 0.2 < misdrawn(pentagram) < 0.6  # its middle is inside twice


def test_a_small_loop_is_no_fault():
    loop = [10, 10, 50, 10, 50, 40, 49.5, 40.5, 49.5, 39.8, 50, 40.3, 10, 40]
    assert crosses_itself(np.reshape(loop, (-1, 2)).astype(float))
    assert rules([loop]) == []


def test_masks_are_judged_by_what_they_cover():
    assert rules([SQUARE.ravel().tolist()]) == []
    assert rules([SQUARE.ravel().tolist(), BOW_TIE.ravel().tolist()]) == ["polygon-crossing"]
    assert rules([(SQUARE + 60).ravel().tolist()]) == ["polygon-outside"]
    assert rules([(SQUARE + 30).ravel().tolist()]) == []  # partly outside
    assert rules([star(5, 2).ravel().tolist()]) == ["polygon-crossing"]
    assert rules({"size": [48, 64], "counts": [3072]}) == []  # its numbers say all


@pytest.mark.parametrize("away", [(-30, 0), (0, -30), (54, 0), (0, 38)])
def test_an_outline_that_only_touches_its_picture_is_outside(away):
    assert rules([(SQUARE + away).ravel().tolist()]) == ["polygon-outside"]
    inward = np.sign(away)
    assert rules([(SQUARE + away - inward).ravel().tolist()]) == []


def test_an_outline_of_too_many_points_is_not_compared_with_itself(monkeypatch):
    monkeypatch.setattr(polygons, "_POINTS", 5)
    assert crosses_itself(star(5, 2)) and not crosses_itself(star(7, 2))


@pytest.mark.parametrize(
    ("segmentation", "rule"),
    [
        ([[1, 2, 3, 4, 5, 6]], None),
        ([[1, 2, 3, 4]], "polygon-short"),
        ([[1, 2, 3, 4, 5, 6, 7]], "polygon-short"),
        ([[1, 2, 3, 4, 5, 6], []], "polygon-short"),
        ([[1, 2, math.nan, 4, 5, 6]], "number-not-finite"),
        ([[1, 2, math.inf, 4, -math.inf, 6]], "number-not-finite"),
        ({"size": [48, 64], "counts": [3072]}, None),
        ({"size": [48, 64], "counts": [3000, 72]}, None),
        ({"size": [48, 64], "counts": [3000, 71]}, "rle-broken"),
        ({"size": [48, 64], "counts": [3080, -8]}, "rle-broken"),
        ({"size": [48, 64], "counts": None}, "rle-broken"),
        ({"size": [64, 48], "counts": [3072]}, "rle-size"),
        ({"counts": [3072]}, "rle-size"),
    ],
)
def test_numbers_alone_tell(segmentation, rule):
    found = fault_of_numbers(segmentation, SIZE)
    assert (found and found[0]) == rule


def test_what_is_no_mask_is_a_type_error():
    for segmentation in ([1.0, 2.0], [["a"] * 6], 5):
        with pytest.raises(TypeError):
            fault_of_numbers(segmentation, SIZE)


def test_compressed_runs_are_read_as_pycocotools_reads_them():
    from pycocotools import mask

    rng = np.random.default_rng(0)
    for share in (0.0, 0.01, 0.5, 1.0):
        drawn = np.asfortranarray(rng.random((48, 64)) < share, dtype=np.uint8)
        counts = mask.encode(drawn)["counts"].decode()
        lengths = counts_of(counts)
        again = np.repeat(np.arange(len(lengths)) % 2, lengths).reshape(64, 48).T
        assert (again == drawn).all()
        assert fault_of_numbers({"size": [48, 64], "counts": counts}, SIZE) is None
        broken = fault_of_numbers({"size": [48, 64], "counts": counts[:-1]}, SIZE)
        assert broken[0] == "rle-broken"


def test_compressed_runs_that_end_within_a_number_say_so():
    with pytest.raises(ValueError, match="the last number is cut"):
        counts_of("Q")
