"""Pictures inside the page."""

import base64
from pathlib import Path

import cv2
import numpy as np

from swin_mm.reporting.samples import Item, Look, colours_for, draw_side, encode, read_picture

LOOKS = [Look("cat", (255, 0, 0)), Look("dog", (0, 0, 255))]
GRAY = np.full((60, 80, 3), 128, np.uint8)


def decoded(uri: str) -> np.ndarray:
    head, _, data = uri.partition(",")
    assert head == "data:image/jpeg;base64"
    return cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)


def region(rows: slice, columns: slice) -> np.ndarray:
    mask = np.zeros(GRAY.shape[:2], bool)
    mask[rows, columns] = True
    return mask


def test_regions_and_boxes_are_drawn_in_the_colours_of_their_labels() -> None:
    items = [
        Item(0, mask=region(slice(0, 30), slice(0, 40))),
        Item(1, box=(50.0, 40.0, 20.0, 15.0)),
    ]
    drawn = decoded(draw_side("truth", GRAY, items, looks=LOOKS, limit=100_000).picture).astype(int)
    blue, _, red = drawn[15, 20]
    assert red - blue > 100
    blue, _, red = drawn[47, 50]
    assert blue - red > 100
    assert np.abs(drawn[50, 10] - 128).max() < 12
    assert (GRAY == 128).all()


def test_a_small_region_lies_on_a_large_one() -> None:
    items = [
        Item(0, mask=region(slice(0, 10), slice(0, 10))),
        Item(1, mask=region(slice(0, 60), slice(0, 80))),
    ]
    side = draw_side("truth", GRAY, items, looks=LOOKS, limit=100_000)
    blue, _, red = decoded(side.picture)[5, 5].astype(int)
    assert red > blue


def test_captions_count_objects_and_measure_regions() -> None:
    boxes = [Item(label, box=(1, 1, 5, 5)) for label in (1, 0, 1)]
    chips = draw_side("truth", GRAY, boxes, looks=LOOKS, limit=9000).chips
    assert [(one.name, one.amount) for one in chips] == [("dog", "2"), ("cat", "1")]
    regions = [
        Item(0, mask=region(slice(0, 1), slice(0, 1))),
        Item(1, mask=region(slice(0, 30), slice(0, 80))),
    ]
    chips = draw_side("truth", GRAY, regions, looks=LOOKS, limit=9000).chips
    assert [(one.name, one.amount) for one in chips] == [("dog", "50%"), ("cat", "<1%")]


def test_of_many_classes_the_rest_is_only_named() -> None:
    looks = [Look(f"kind {label}", (0, 0, 0)) for label in range(11)]
    side = draw_side(
        "truth", GRAY, [Item(one, box=(1, 1, 5, 5)) for one in range(11)], looks=looks, limit=9000
    )
    assert len(side.chips) == 8
    assert side.more == ("kind 8 1", "kind 9 1", "kind 10 1")


def test_a_picture_shrinks_until_it_fits() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (600, 900, 3), dtype=np.uint8)
    large, small = encode(noise, 10**7), encode(noise, 30_000)
    assert decoded(large).shape == (373, 560, 3)
    assert len(small) < 31_000 < len(large)
    assert decoded(encode(noise, 1)).shape[1] == 192


def test_the_most_frequent_labels_have_the_plainest_colours() -> None:
    colours = colours_for([3, 0], 30)
    assert len(set(colours)) == 30
    assert colours[3] == colours_for([0], 1)[0] == (31, 119, 180)


def test_what_is_no_picture_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("no picture")
    assert read_picture(str(tmp_path / "a.jpg")) is None
    assert read_picture(str(tmp_path / "b.jpg")) is None
