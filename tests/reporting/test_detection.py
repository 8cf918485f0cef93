"""Detections beside COCO's annotations."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pycocotools.mask import encode

from swin_mm.reporting.detection import judge_detections, match

LABELS = {3: 0, 5: 1, 9: 2}
NOTHING = 3


def test_what_is_found_as_it_is_scores_full_marks(coco: object, find: Callable) -> None:
    found = [find(1, 3, 10), find(1, 5, 60), find(2, 5, 10)]
    judged = judge_detections(coco, found)
    (table,) = judged.tables
    figures = dict(table.rows)
    assert figures["cat"][:3] == pytest.approx((100, 100, 100))
    assert figures["dog"][-1] == 2
    assert table.absent == ("yeti",)
    assert table.mean[0] == pytest.approx(100)
    assert [one.measure for one in judged.graded] == [1.0, 1.0]
    assert np.array_equal(judged.confusion.counts, np.diag([1, 2, 0, 0]))


def test_figures_are_mmdetections(coco: object, find: Callable, tmp_path: Path) -> None:
    import torch
    from mmdet.evaluation import CocoMetric

    numbers = list(LABELS)
    random = np.random.default_rng(0)
    found = [
        find(image, number, float(10 + 50 * (number > 3) + random.integers(0, 8)), float(score))
        for image in (1, 2)
        for number in numbers
        for score in random.random(4)
    ]
    metric = CocoMetric(str(tmp_path / "annotations.json"), metric="bbox", classwise=True)
    metric.dataset_meta = {"classes": ("cat", "dog", "yeti")}
    for image in (1, 2):
        mine = [one for one in found if one["image_id"] == image]
        boxes = torch.tensor([one["bbox"] for one in mine])
        boxes[:, 2:] += boxes[:, :2]
        instances = {
            "bboxes": boxes,
            "scores": torch.tensor([one["score"] for one in mine]),
            "labels": torch.tensor([LABELS[one["category_id"]] for one in mine]),
        }
        sample = {"img_id": image, "ori_shape": (50, 100), "pred_instances": instances}
        metric.process({}, [sample])
    theirs = metric.compute_metrics(metric.results)
    (table,) = judge_detections(coco, found).tables
    figures = dict(table.rows)
    keys = ("bbox_mAP", "bbox_mAP_50", "bbox_mAP_75", "bbox_mAP_s")
    assert 0 < theirs["bbox_mAP"] < 1
    assert [round(value / 100, 3) for value in table.mean[:4]] == [theirs[key] for key in keys]
    assert round(figures["cat"][0] / 100, 3) == theirs["cat_precision"]
    assert round(figures["dog"][0] / 100, 3) == theirs["dog_precision"]


def test_masks_have_a_table_of_their_own_with_their_own_sizes(coco: object, find: Callable) -> None:
    here, away = (np.zeros((50, 100), np.uint8, order="F") for _ in range(2))
    here[10:30, 10:30] = 1
    away[10:30, 70:90] = 1
    whole = {"bbox": [0.0, 0.0, 100.0, 50.0]}
    found = [
        {**find(1, 3, 10, 0.9), **whole, "segmentation": encode(here)},
        {**find(1, 3, 10, 0.95), **whole, "segmentation": encode(away)},
    ]
    boxes, masks = judge_detections(coco, found).tables
    assert (boxes.title, masks.title) == ("Boxes", "Masks")
    assert dict(boxes.rows)["cat"][0] == 0
    assert dict(masks.rows)["cat"][3] == pytest.approx(50)  # a small error beside a small success


def test_nothing_found_is_zero_where_there_was_something(coco: object) -> None:
    judged = judge_detections(coco, [])
    assert [table.title for table in judged.tables] == ["Boxes", "Masks"]
    figures = dict(judged.tables[0].rows)
    assert figures["cat"][0] == 0
    assert math.isnan(figures["yeti"][0])
    assert judged.confusion.counts[:, NOTHING].tolist() == [1, 2, 0, 0]
    assert [one.measure for one in judged.graded] == [0.0, 0.0]


def test_pairs_are_of_one_class_before_any_other(annotations: dict, find: Callable) -> None:
    truth = annotations["annotations"][:2]
    both = [find(1, 5, 12, 0.95), find(1, 3, 13, 0.6)]  # the surest overlaps more, of another class
    assert sorted(match(truth, both, LABELS).tolist()) == [[0, 0], [1, NOTHING], [NOTHING, 1]]
    assert [0, 1] in match(truth, both[:1], LABELS).tolist()


def test_each_object_is_taken_once_and_doubtful_boxes_do_not_count(
    annotations: dict, find: Callable
) -> None:
    truth = annotations["annotations"][:1]
    twice = [find(1, 3, 10), find(1, 3, 11), find(1, 3, 12, 0.29)]
    assert sorted(match(truth, twice, LABELS).tolist()) == [[0, 0], [NOTHING, 0]]


def test_half_an_overlap_is_asked_for(annotations: dict, find: Callable) -> None:
    truth = annotations["annotations"][:1]
    assert match(truth, [find(1, 3, 16.6)], LABELS).tolist() == [[0, 0]]  # IoU 0.504
    assert [0, NOTHING] in match(truth, [find(1, 3, 16.8)], LABELS).tolist()  # 0.493


def test_what_lies_in_a_crowd_counts_neither_way(annotations: dict, find: Callable) -> None:
    truth = annotations["annotations"][2:]
    found = [find(2, 5, 10), find(2, 3, 62), find(2, 9, 61)]
    assert match(truth, found, LABELS).tolist() == [[1, 1]]
    assert match([], [], LABELS).shape == (0, 2)
