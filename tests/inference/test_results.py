import numpy as np
from pycocotools.coco import COCO

from swin_mm.inference import Classes, Instances
from swin_mm.inference.cutouts import Cutout
from swin_mm.inference.results import coco_entries

CLASSES = Classes(("cat", "dog"), ((1, 1, 1), (2, 2, 2)), (17, 18))


def mask():
    mask = np.zeros((6, 8), bool)
    mask[1:4, 2:7] = True
    return mask


def found(*, masks=True):
    boxes, common = np.array([[2.0, 1.0, 7.0, 4.0]]), (np.array([1]), np.array([0.75]))
    return Instances(6, 8, boxes, *common, (Cutout.of(mask()),) if masks else None)


def entries(**more):
    return coco_entries(found(**more), CLASSES, image_id=9, file_name="photos/9.jpg")


def test_instances_are_written_as_cocos_results():
    (entry,) = entries()
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
    read = truth.loadRes(entries())
    (annotation,) = read.loadAnns(read.getAnnIds())
    assert np.array_equal(read.annToMask(annotation), mask())


def test_boxes_need_no_masks():
    (entry,) = entries(masks=False)
    assert "segmentation" not in entry
