import numpy as np
import torch
from mmengine.structures import BaseDataElement, InstanceData, PixelData
from pycocotools.coco import COCO

from swin_mm.inference.classes import Classes
from swin_mm.inference.pictures import Picture
from swin_mm.inference.results import coco_entries, label_picture

CLASSES = Classes(("cat", "dog"), ((1, 1, 1), (2, 2, 2)), (17, 18))


def found():
    masks = torch.zeros(1, 6, 8, dtype=torch.bool)
    masks[:, 1:4, 2:7] = True
    instances = InstanceData(
        bboxes=torch.tensor([[2.0, 1.0, 7.0, 4.0]]),
        labels=torch.tensor([1]),
        scores=torch.tensor([0.75]),
        masks=masks,
    )
    return BaseDataElement(pred_instances=instances)


def test_instances_are_written_as_cocos_results():
    (entry,) = coco_entries(found(), Picture("photos/9.jpg", "9", 9), CLASSES)
    assert (entry["image_id"], entry["file_name"]) == (9, "photos/9.jpg")
    assert (entry["category_id"], entry["category"]) == (18, "dog")
    assert (entry["bbox"], entry["score"]) == ([2, 1, 5, 3], 0.75)


def test_pycocotools_reads_them():
    truth = COCO()
    truth.dataset = {
        "images": [{"id": 9, "height": 6, "width": 8}],
        "categories": [{"id": 18, "name": "dog"}],
    }
    truth.createIndex()
    read = truth.loadRes(coco_entries(found(), Picture("photos/9.jpg", "9", 9), CLASSES))
    (annotation,) = read.loadAnns(read.getAnnIds())
    assert np.array_equal(read.annToMask(annotation), found().pred_instances.masks[0])


def test_boxes_need_no_masks():
    sample = found()
    del sample.pred_instances.masks
    (entry,) = coco_entries(sample, Picture("9.jpg", "9", 9), CLASSES)
    assert "segmentation" not in entry


def test_labels_take_one_byte_or_two():
    for most, kind in ((255, np.uint8), (256, np.uint16)):
        labels = torch.tensor([[[0, 3, most]]])
        picture = label_picture(BaseDataElement(pred_sem_seg=PixelData(data=labels)))
        assert picture.dtype == kind
        assert picture.tolist() == [[0, 3, most]]
