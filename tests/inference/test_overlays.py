import numpy as np
import pytest
import torch
from mmengine.structures import InstanceData, PixelData

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


def labelled(labels):
    from mmseg.structures import SegDataSample

    return SegDataSample(pred_sem_seg=PixelData(data=labels[None]))


def test_sure_instances_are_drawn_in_the_pictures_colours(boxes):
    drawn = boxes.draw(PICTURE, instance(0.9))
    assert drawn.shape == PICTURE.shape
    assert (drawn[5, 5] == RGB).all()
    assert (drawn[15:55, 15:65] != RGB).any()


def test_instances_below_the_threshold_are_not_drawn(boxes):
    assert (boxes.draw(PICTURE, instance(0.4)) == RGB).all()


def test_labelled_pixels_take_half_of_their_class_colour(regions):
    labels = torch.zeros(60, 80, dtype=torch.long)
    labels[:, 40:] = 2
    drawn = regions.draw(PICTURE, labelled(labels))
    for column, label in ((10, 0), (70, 2)):
        assert np.abs(drawn[30, column] - (RGB + regions.classes.colours[label]) / 2).max() <= 1


def test_the_legend_shows_every_class_that_occurs_below_the_picture(regions):
    labels = torch.zeros(60, 80, dtype=torch.long)
    labels[:, 40:] = 2
    drawn = regions.draw(PICTURE, labelled(labels))
    legend = drawn[60:]
    assert drawn.shape[1] == 80 and len(legend) > 0
    for label, occurs in ((0, True), (2, True), (1, False)):
        assert (legend == regions.classes.colours[label]).all(-1).any() == occurs


@pytest.mark.parametrize("shape", [(1, 1, 3), (5, 9)], ids=["one pixel", "gray"])
def test_small_and_gray_pictures_are_drawn(regions, shape):
    drawn = regions.draw(np.zeros(shape, np.uint8), labelled(torch.zeros(shape[:2]).long()))
    assert drawn.shape[1:] == (shape[1], 3)
