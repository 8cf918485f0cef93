import numpy as np
import pytest
import torch
from mmengine.structures import InstanceData

from swin_mm.inference import Instances
from swin_mm.inference.cutouts import Cutout
from swin_mm.inference.overlays import Overlay

PICTURE = np.full((60, 80, 3), (200, 100, 50), np.uint8)  # BGR
RGB = np.array([50, 100, 200])


@pytest.fixture(scope="module")
def boxes(detector):
    predictor = detector.predictor()
    return Overlay(predictor.cfg, predictor.classes, score_threshold=0.5)


@pytest.fixture(scope="module")
def regions(segmentor):
    predictor = segmentor.predictor()
    return Overlay(predictor.cfg, predictor.classes, score_threshold=0.5)


def instance(score):
    from mmdet.structures import DetDataSample

    found = InstanceData(
        bboxes=torch.tensor([[20.0, 20.0, 60.0, 50.0]]),
        labels=torch.tensor([3]),
        scores=torch.tensor([score]),
    )
    return DetDataSample(pred_instances=found)


def test_sure_instances_are_drawn_in_the_pictures_colours(boxes):
    drawn = boxes.draw_sample(PICTURE, instance(0.9))
    assert drawn.shape == PICTURE.shape
    assert (drawn[5, 5] == RGB).all()
    assert (drawn[15:55, 15:65] != RGB).any()


def test_instances_below_the_threshold_are_not_drawn(boxes):
    assert (boxes.draw_sample(PICTURE, instance(0.4)) == RGB).all()


def test_labelled_pixels_take_half_of_their_class_colour(regions):
    labels = np.zeros((60, 80), np.uint8)
    labels[:, 40:] = 2
    drawn = regions.draw_labels(PICTURE, labels)
    for column, label in ((10, 0), (70, 2)):
        assert np.abs(drawn[30, column] - (RGB + regions.classes.colours[label]) / 2).max() <= 1


def test_the_legend_shows_every_class_that_occurs_below_the_picture(regions):
    labels = np.zeros((60, 80), np.uint8)
    labels[:, 40:] = 2
    drawn = regions.draw_labels(PICTURE, labels)
    legend = drawn[60:]
    assert drawn.shape[1] == 80 and len(legend) > 0
    for label, occurs in ((0, True), (2, True), (1, False)):
        assert (legend == regions.classes.colours[label]).all(-1).any() == occurs


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 9)], ids=["one pixel", "gray"])
def test_small_and_gray_pictures_are_drawn(regions, shape):
    drawn = regions.draw_labels(np.zeros(shape, np.uint8), np.zeros(shape[:2], np.uint8))
    assert drawn.shape[1:] == (shape[1], 3)


def test_pixels_of_no_class_that_is_kept_stay_as_they_are(regions):
    labels = np.full((60, 80), 255, np.uint8)
    labels[:, 40:] = 2
    drawn = regions.draw_labels(PICTURE, labels, legend=False)
    assert drawn.shape == PICTURE.shape
    assert (drawn[:, :40] == RGB).all() and (drawn[:, 40:] != RGB).any()


def test_overlays_of_large_pictures_are_shrunk(regions):
    drawn = regions.draw_labels(PICTURE, np.zeros((60, 80), np.uint8), side=40, legend=False)
    assert drawn.shape == (30, 40, 3)


def many(scores):
    """Instances of a picture of 600 x 800 px, one below the other, with full masks."""
    tops = 200 * np.arange(len(scores))
    boxes = np.stack([tops * 0 + 160.0, tops, tops * 0 + 480.0, tops + 160.0], 1)
    masks = tuple(Cutout.of(np.ones((160, 320), bool), left=160, top=int(top)) for top in tops)
    labels = np.zeros(len(scores), int)
    return Instances(600, 800, boxes, labels, np.array(scores), masks)


def test_instances_of_large_pictures_are_drawn_in_their_shrunk_place(boxes):
    picture = np.broadcast_to(np.array([200, 100, 50], np.uint8), (600, 800, 3))
    drawn = boxes.draw_instances(picture, many([0.9, 0.4]), side=400)
    assert drawn.shape == (300, 400, 3)
    expected = (RGB + boxes.classes.colours[0]) / 2
    assert np.abs(drawn[60, 160] - expected).max() <= 1  # inside the sure one
    assert (drawn[105:175, 85:235] == RGB).all()  # inside the one below the threshold
    assert (drawn[:, 245:] == RGB).all()


def test_a_large_picture_without_instances_is_left_alone(boxes):
    drawn = boxes.draw_instances(PICTURE, many([]), side=400)
    assert (drawn == RGB).all()


def test_a_class_name_in_any_script_can_be_drawn(boxes, monkeypatch):
    from dataclasses import replace

    names = ("Fußgänger", *boxes.classes.names[1:])
    monkeypatch.setattr(boxes, "classes", replace(boxes.classes, names=names))
    assert boxes.draw_instances(np.zeros((600, 800, 3), np.uint8), many([0.9]), side=800).any()


def test_a_class_name_with_two_dollars_is_no_formula(boxes, monkeypatch):
    names = ["$\\frac$"] * len(boxes.classes.names)
    monkeypatch.setitem(boxes._visualizer.dataset_meta, "classes", names)
    assert (boxes.draw_sample(PICTURE, instance(0.9)) != RGB).any()
