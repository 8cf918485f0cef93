"""Predictions in forms that other programs read: COCO's results, label pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from swin_mm.inference.classes import Classes
from swin_mm.inference.errors import InferenceError
from swin_mm.inference.pictures import Picture


def coco_entries(sample: Any, picture: Picture, classes: Classes) -> list[dict[str, Any]]:
    """Write the instances of a picture as COCO's results, the surest first as the model gave them.

    Args:
        sample: with `pred_instances`: boxes (n, 4) px, labels, scores, masks (n, H, W) if any.
        picture: where they were found.
        classes: of the model.

    Returns:
        One entry an instance; masks as compressed RLE. `pycocotools`' `loadRes` takes them, and
        overlooks the names that stand beside the numbers.
    """
    found = sample.pred_instances.numpy()
    entries = []
    for number, (left, top, right, bottom) in enumerate(found.bboxes.astype(float).tolist()):
        label = int(found.labels[number])
        entry = {
            "image_id": picture.image_id,
            "file_name": picture.path,
            "category_id": classes.ids[label],
            "category": classes.names[label],
            "bbox": [left, top, right - left, bottom - top],
            "score": float(found.scores[number]),
        }
        if "masks" in found:
            entry["segmentation"] = _rle(found.masks[number])
        entries.append(entry)
    return entries


def label_picture(sample: Any) -> np.ndarray:
    """Take the labels of a picture, (H, W): uint8, or uint16 where a label is past 255.

    Raises:
        InferenceError: if the model labelled no pixels.
    """
    if "pred_sem_seg" not in sample:
        raise InferenceError("a segmentor must give pred_sem_seg, this one did not")
    labels = sample.pred_sem_seg.data.squeeze(0).numpy()
    return labels.astype(np.uint8 if labels.max(initial=0) < 256 else np.uint16)


def _rle(mask: np.ndarray) -> dict[str, Any]:
    from pycocotools import mask as coco_mask

    rle = coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
    return {"size": [int(side) for side in rle["size"]], "counts": rle["counts"].decode()}
