import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from swin_mm.data import KINDS, render_scene

PLACES = {"training": ("ADE_train", 1, 40), "validation": ("ADE_val", 1_000_001, 20)}
NAMES = {
    "airplane": "airplane",
    "umbrella": "awning",
    "sports ball": "ball",
    "kite": "plaything",
    "bottle": "bottle",
    "donut": "food",
}


@pytest.mark.parametrize("place", PLACES)
def test_every_picture_has_labels_of_its_name_and_size(world, place):
    stem, first, count = PLACES[place]
    root = world.root / "ADEChallengeData2016"
    names = {f"{stem}_{number:08d}" for number in range(first, first + count)}
    assert {file.stem for file in (root / "images" / place).glob("*.jpg")} == names
    assert {file.stem for file in (root / "annotations" / place).glob("*.png")} == names


def test_labels_are_those_of_the_scene_one_value_a_pixel(world):
    root = world.root / "ADEChallengeData2016/annotations/training"
    for number in range(1, 41):
        labels = cv2.imread(str(root / f"ADE_train_{number:08d}.png"), cv2.IMREAD_UNCHANGED)
        assert labels.max() <= 150
        assert np.array_equal(labels, render_scene(5, number, (160, 120)).labels())


def test_both_layouts_hold_the_same_pictures(world):
    coco = (world.root / "val2017/000001000003.jpg").read_bytes()
    ade = world.root / "ADEChallengeData2016/images/validation/ADE_val_01000003.jpg"
    assert ade.read_bytes() == coco


@pytest.mark.skipif("SWIN_MM_REAL_DATA" not in os.environ, reason="SWIN_MM_REAL_DATA is not set")
def test_kinds_have_ade20ks_own_numbers():
    table = Path(os.environ["SWIN_MM_REAL_DATA"]) / "ade/objectInfo150.txt"
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    official = {int(row[0]): row[-1].split(",")[0].strip() for row in rows}
    assert {kind.name: official[kind.ade_id] for kind in KINDS} == NAMES
