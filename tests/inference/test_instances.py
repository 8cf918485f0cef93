import numpy as np
import pytest
import torch
from mmengine.structures import BaseDataElement, InstanceData

from swin_mm.inference import InferenceError, Instances
from swin_mm.inference.instances import gather


def sample(*, masks=True):
    found = InstanceData(
        bboxes=torch.tensor([[2.0, 1.0, 7.0, 4.0], [0.0, 0.0, 1.0, 1.0]]),
        labels=torch.tensor([1, 0]),
        scores=torch.tensor([0.75, 0.5]),
    )
    if masks:
        found.masks = torch.zeros(2, 6, 8, dtype=torch.bool)
        found.masks[0, 1:4, 2:7] = True
    return BaseDataElement(pred_instances=found)


def test_what_a_tile_shows_is_told_in_the_pictures_pixels():
    found = Instances.of(sample(), size=(60, 80), left=10, top=20)
    assert found.boxes.tolist() == [[12, 21, 17, 24], [10, 20, 11, 21]]
    assert (found.masks[0].left, found.masks[0].top) == (12, 21)
    assert found.masks[0].pixels().shape == (3, 5)


def test_boxes_need_no_masks():
    assert Instances.of(sample(masks=False), size=(6, 8)).masks is None


def test_a_model_that_gives_no_instances_is_refused():
    with pytest.raises(InferenceError, match="must give pred_instances"):
        Instances.of(BaseDataElement(), size=(6, 8))


def test_classes_are_kept_by_label():
    found = Instances.of(sample(), size=(6, 8))
    kept = found.with_labels([0, 5])
    assert kept.scores.tolist() == [0.5] and kept.masks == (found.masks[1],)
    assert len(found.with_labels([7])) == 0


@pytest.mark.parametrize("masks", [True, False])
def test_parts_of_a_picture_are_put_in_a_row(masks):
    found = Instances.of(sample(masks=masks), size=(6, 8))
    both = gather([found, found.pick([]), found.pick([1])])
    assert both.labels.tolist() == [1, 0, 0]
    assert np.array_equal(both.boxes[2], found.boxes[1])
    assert (both.masks is not None) == masks
