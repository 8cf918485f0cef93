"""What the rules say of MMDetection and MMSegmentation is what these do."""

import json
import math
import shutil
from contextlib import suppress

import numpy as np
import pytest
from mmengine.registry import DATASETS
from PIL import Image

DETECTOR, SEGMENTOR = "mask_rcnn_swin_t.py", "upernet_swin_t.py"
POLYGON = [10.0, 10.0, 40.0, 10.0, 40.0, 30.0]
SOUND = {"id": 1, "image_id": 1, "category_id": 1, "iscrowd": 0, "area": 9.0,
         "bbox": [1, 2, 30, 40], "segmentation": [POLYGON]}  # fmt: skip


def load(cfg):
    """Load the first sample as a training does."""
    node = cfg.train_dataloader.dataset
    node.pipeline = [*node.pipeline[:2], node.pipeline[-1]]
    with DATASETS.switch_scope_and_registry(cfg.default_scope) as registry:
        return registry.build(node)[0]["data_samples"]


@pytest.fixture
def load_coco(tiny_scenes, config, tmp_path):
    def loaded(*changes, image=None):
        shutil.copytree(tiny_scenes, tmp_path / "scenes", dirs_exist_ok=True)
        path = tmp_path / "scenes/annotations/instances_train2017.json"
        content = json.loads(path.read_text())
        content["annotations"] = [
            {k: v for k, v in {**SOUND, "id": n, **change}.items() if v != "absent"}
            for n, change in enumerate(({}, *changes), 1)
        ]
        content["images"] = [content["images"][0] | (image or {})]
        path.write_text(json.dumps(content))
        return load(config(DETECTOR, tmp_path / "scenes")).gt_instances

    return loaded


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"id": 1}, AssertionError),  # annotation-id-twice
        ({"segmentation": []}, KeyError),  # mask-missing
        ({"segmentation": {"size": [9, 9], "counts": [81]}}, (AssertionError, ValueError)),
        ({"area": "absent"}, KeyError),  # record-incomplete
        ({"bbox": "absent"}, KeyError),
        ({"bbox": [1, 2, 3]}, ValueError),
    ],
)
def test_these_stop_mmdetection(load_coco, change, error):
    with pytest.raises(error):
        load_coco(change)


def test_these_are_left_out(load_coco):
    changes = (
        {"category_id": 999},  # category-unknown
        {"image_id": 999},  # picture-unknown
        {"bbox": [900, 2, 30, 40]},  # box-outside
        {"bbox": [1, 2, 0.5, 40]},  # box-empty
        {"area": 0},
        {"segmentation": [POLYGON[:5]]},  # polygon-short, of all its polygons
        {"ignore": 1, "segmentation": []},  # no fault
        {"bbox": [math.nan, 2, 30, 40]},  # number-not-finite
    )
    assert len(load_coco(*changes)) == 1
    assert len(load_coco(*[{}] * len(changes))) == 1 + len(changes)


def test_an_infinite_box_reaches_the_loss(load_coco):
    assert load_coco({"bbox": [1, 2, math.inf, 40]}).bboxes.tensor.isinf().any()


def test_a_box_that_ends_beyond_is_trained_as_it_is(load_coco):
    assert load_coco({"bbox": [1, 2, 500, 40]}).bboxes.tensor[1].tolist() == [1, 2, 501, 42]


def test_a_bow_tie_loses_half(load_coco):
    square = [10, 10, 40, 10, 40, 40, 10, 40]
    bow_tie = [10, 10, 40, 40, 40, 10, 10, 40]
    masks = load_coco({"segmentation": [square]}, {"segmentation": [bow_tie]}).masks.masks
    assert masks[2].sum() < 0.6 * masks[1].sum()


@pytest.mark.parametrize(
    ("labels", "stops"),
    [
        (np.full((72, 96), 151, np.uint8), True),  # label-beyond
        (np.full((72, 96), 150, np.uint8), False),
        (np.full((72, 96), 0, np.uint8), False),
        (np.full((72, 96), 255, np.uint8), False),
    ],
)
def test_a_label_beyond_the_classes_stops_the_loss(tiny_scenes, config, tmp_path, labels, stops):
    import torch

    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    folder = tmp_path / "scenes/ADEChallengeData2016/annotations/training"
    Image.fromarray(labels).save(sorted(folder.iterdir())[0])
    truth = load(config(SEGMENTOR, tmp_path / "scenes")).gt_sem_seg.data
    scores = torch.zeros(1, 150, 72, 96)
    stopped = True
    with suppress(IndexError):
        torch.nn.functional.cross_entropy(scores, truth.long(), ignore_index=255)
        stopped = False
    assert stopped == stops
