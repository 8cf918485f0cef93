import json
from collections import Counter

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO

from swin_mm.data import KINDS, WrittenScenes, render_scene

SPLITS = {"train": 1, "val": 1_000_001}


def opened(world: WrittenScenes, split: str) -> COCO:
    return COCO(str(world.root / f"annotations/instances_{split}2017.json"))


@pytest.mark.parametrize("split", SPLITS)
def test_every_picture_is_there_in_its_size(world, split):
    coco = opened(world, split)
    assert len(coco.imgs) == {"train": 40, "val": 20}[split]
    for number, entry in coco.imgs.items():
        assert entry["file_name"] == f"{number:012d}.jpg"
        picture = cv2.imread(str(world.root / f"{split}2017" / entry["file_name"]))
        assert picture.shape == (entry["height"], entry["width"], 3)


def test_numbers_are_unique_over_both_splits(world):
    train, val = (opened(world, split) for split in SPLITS)
    assert not set(train.imgs) & set(val.imgs)
    assert not set(train.anns) & set(val.anns)
    for split in SPLITS:
        file = world.root / f"annotations/instances_{split}2017.json"
        entries = json.loads(file.read_text())["annotations"]
        assert len({entry["id"] for entry in entries}) == len(entries)


def test_masks_read_by_pycocotools_are_those_of_the_scenes(world):
    coco = opened(world, "train")
    for number in coco.imgs:
        scene = render_scene(5, number, (160, 120))
        entries = coco.loadAnns(coco.getAnnIds(imgIds=[number]))
        assert len(entries) == len(scene.things)
        for entry, thing in zip(entries, scene.things, strict=True):
            told, true = coco.annToMask(entry).astype(bool), thing.mask(scene.size)
            rim = cv2.morphologyEx(true.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3)))
            assert entry["category_id"] == thing.kind.coco_id
            assert not (told ^ true)[rim == 0].any()  # they differ at most along the edge
            if thing.crowd:
                assert np.array_equal(told, true)


def test_areas_and_boxes_are_those_of_the_masks(world):
    coco = opened(world, "train")
    for entry in coco.anns.values():
        mask = coco.annToMask(entry)
        rows, columns = np.nonzero(mask)
        box = (columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1)
        assert entry["bbox"] == pytest.approx(box, abs=2)
        assert entry["area"] == pytest.approx(mask.sum(), rel=0.15, abs=12)


def test_crowds_are_run_lengths_and_things_polygons(world):
    entries = list(opened(world, "train").anns.values())
    assert any(entry["iscrowd"] for entry in entries)
    for entry in entries:
        assert isinstance(entry["segmentation"], dict if entry["iscrowd"] else list)
        if not entry["iscrowd"]:
            assert all(len(part) >= 6 and len(part) % 2 == 0 for part in entry["segmentation"])


def test_only_official_numbers_are_used_among_all_eighty_categories(world):
    coco = opened(world, "train")
    assert len(coco.cats) == 80
    used = Counter(entry["category_id"] for entry in coco.anns.values())
    assert set(used) == {kind.coco_id for kind in KINDS}


def test_results_can_be_loaded_beside_the_truth(world):
    coco = opened(world, "val")
    results = [
        {
            "image_id": a["image_id"],
            "category_id": a["category_id"],
            "bbox": a["bbox"],
            "score": 1.0,
        }
        for a in coco.anns.values()
    ]
    assert len(coco.loadRes(results).anns) == len(coco.anns)
