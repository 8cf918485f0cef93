"""Predictions in files."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from swin_mm.engine.errors import UsageError
from swin_mm.engine.predictions import require_place, writer_for

MASK = np.zeros((4, 6), dtype=bool)
MASK[1:3, 2:5] = True


@pytest.fixture
def instances() -> dict:
    """One instance in picture 7."""
    return {
        "img_id": 7,
        "gt_instances": {},
        "pred_instances": {
            "bboxes": torch.tensor([[2.0, 1.0, 5.0, 3.0]]),
            "labels": torch.tensor([1]),
            "scores": torch.tensor([0.5]),
            "masks": torch.from_numpy(MASK)[None],
        },
    }


@pytest.fixture
def regions() -> dict:
    """A picture of two classes."""
    labels = torch.from_numpy(MASK.astype(np.int64) * 3)[None]
    return {
        "img_path": "a.jpg",
        "pred_sem_seg": {"data": labels},
        "gt_sem_seg": {"data": labels},
        "seg_logits": {"data": torch.zeros(150, 4, 6)},
    }


def write(path: Path, sample: dict, categories: tuple[int, ...] = ()) -> None:
    writer = writer_for(str(path))
    writer.dataset_meta = {"classes": ("wall", "cat", "dog", "door")}
    writer.category_ids = categories
    writer.process({}, [sample])
    writer.evaluate(1)


def test_instances_are_cocos_results(tmp_path: Path, instances: dict) -> None:
    path = tmp_path / "new folder" / "found.json"
    write(path, instances, (11, 22))
    truth = tmp_path / "truth.json"
    picture = {"id": 7, "height": 4, "width": 6}
    truth.write_text(json.dumps({"images": [picture], "annotations": [], "categories": []}))
    (found,) = COCO(str(truth)).loadRes(str(path)).anns.values()
    assert (found["category_id"], found["category"]) == (22, "cat")
    assert (found["bbox"], found["score"]) == ([2.0, 1.0, 3.0, 2.0], 0.5)
    assert (coco_mask.decode(found["segmentation"]) == MASK).all()


def test_a_segmentation_is_a_region_a_class(tmp_path: Path, regions: dict) -> None:
    path = tmp_path / "found.json"
    write(path, regions)
    wall, door = json.loads(path.read_text())
    assert (wall["image_id"], wall["category_id"], wall["category"]) == ("a.jpg", 0, "wall")
    assert (coco_mask.decode(wall["segmentation"]) != MASK).all()
    assert (coco_mask.decode(door["segmentation"]) == MASK).all()


def test_a_pickle_holds_what_was_found_and_not_the_truth(
    tmp_path: Path, instances: dict, regions: dict
) -> None:
    path = tmp_path / "found.pkl"
    write(path, instances)
    (found,) = pickle.loads(path.read_bytes())
    assert sorted(found) == ["img_id", "pred_instances"]
    assert (coco_mask.decode(found["pred_instances"]["masks"][0]) == MASK).all()
    write(path, regions)
    (found,) = pickle.loads(path.read_bytes())
    assert sorted(found) == ["img_path", "pred_sem_seg"]
    assert [file.name for file in tmp_path.iterdir()] == ["found.pkl"]


def test_another_ending_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\.json"):
        require_place("found.csv", force=True)
