"""Labelled pixels beside the truth."""

import warnings

import numpy as np
import pytest
import torch
from pycocotools import mask

from swin_mm.engine.errors import UsageError
from swin_mm.reporting.segmentation import (
    IGNORED,
    LabelPictures,
    as_labels,
    by_path,
    count_pairs,
    judge_segmentations,
)

NAMES = ("sky", "road", "tree")


def entries(path: str, labels: np.ndarray) -> list[dict]:
    return [
        {
            "image_id": path,
            "category_id": int(one),
            "segmentation": mask.encode(np.asfortranarray(labels == one, dtype=np.uint8)),
        }
        for one in np.unique(labels)
    ]


def random_labels(count: int, *, top: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.integers(0, top, (6, 8)) for _ in range(count)]


def judged(truth: list[np.ndarray], found: list[np.ndarray]) -> object:
    paths = tuple(f"/data/{number}.jpg" for number in range(len(truth)))
    known = LabelPictures(NAMES, paths, truth.__getitem__)
    parts = [
        one for path, labels in zip(paths, found, strict=True) for one in entries(path, labels)
    ]
    return judge_segmentations(known, parts)


def test_figures_are_mmsegmentations() -> None:
    from mmseg.evaluation.metrics import IoUMetric

    truth, found = random_labels(4, top=3)[:2], random_labels(4, top=3)[2:]
    truth[0][:2] = IGNORED
    metric = IoUMetric()
    metric.dataset_meta = {"classes": NAMES}
    pairs = zip(found, truth, strict=True)
    samples = [
        {
            "pred_sem_seg": {"data": torch.from_numpy(guess)[None]},
            "gt_sem_seg": {"data": torch.from_numpy(labels)[None]},
        }
        for guess, labels in pairs
    ]
    metric.process({}, samples)
    theirs = metric.compute_metrics(metric.results)
    (table,) = judged(truth, found).tables
    assert round(table.mean[0], 2) == pytest.approx(float(theirs["mIoU"]))
    assert round(table.mean[1], 2) == pytest.approx(float(theirs["mAcc"]))


def test_where_nothing_is_labelled_there_is_no_figure_and_no_warning() -> None:
    nothing = np.full((2, 3), IGNORED)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        (table,) = judged([nothing], [np.zeros((2, 3), dtype=int)]).tables
    assert np.isnan(table.mean[:2]).all()


def test_rows_are_the_truth_and_unlabelled_pixels_are_left_out() -> None:
    truth, found = np.array([[0, 0, IGNORED, 2]]), np.array([[0, 1, 1, 1]])
    assert count_pairs(truth, found, 3).tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_a_picture_is_graded_by_the_classes_that_it_has_or_was_given() -> None:
    one = judged([np.array([[0, 0, 1, 1]])], [np.array([[0, 0, 0, 0]])])
    assert one.graded[0].measure == pytest.approx(0.25)  # sky 2 / 4, road 0 / 2, no tree
    assert one.tables[0].absent == ("tree",)


def test_regions_become_the_picture_again() -> None:
    labels = random_labels(1, top=3)[0]
    assert np.array_equal(as_labels(entries("a", labels)), labels)
    assert as_labels(entries("a", labels)[:1]).max() == IGNORED


def test_predictions_from_elsewhere_find_their_picture_by_its_name() -> None:
    found = [{"image_id": "/elsewhere/b.jpg"}, {"image_id": "/elsewhere/c.jpg"}]
    assert list(by_path(["/here/a.jpg", "/here/b.jpg"], found)) == [1]
    assert by_path(["/here/x/b.jpg", "/here/y/b.jpg"], found) == {}  # which of them?


def test_predictions_of_other_pictures_are_refused() -> None:
    truth = LabelPictures(NAMES, ("/data/a.jpg",), lambda number: np.zeros((2, 2), int))
    with pytest.raises(UsageError, match="other pictures"):
        judge_segmentations(truth, entries("/data/z.jpg", np.zeros((2, 2), int)))
    with pytest.raises(UsageError, match=r"\(3, 3\) is not \(2, 2\)"):
        judge_segmentations(truth, entries("/data/a.jpg", np.zeros((3, 3), int)))
