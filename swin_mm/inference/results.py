"""Predictions in a form that other programs read: COCO's results."""

from __future__ import annotations

from typing import Any

from swin_mm.inference.classes import Classes
from swin_mm.inference.instances import Instances


def coco_entries(
    found: Instances, classes: Classes, *, image_id: int | str, file_name: str
) -> list[dict[str, Any]]:
    """Write the instances of a picture as COCO's results, the surest first as the model gave them.

    Args:
        found: in it.
        classes: of the model.
        image_id: the picture's number or name.
        file_name: where it lies.

    Returns:
        One entry an instance; masks as compressed RLE. `pycocotools`' `loadRes` takes them, and
        overlooks the names that stand beside the numbers.
    """
    entries = []
    for number, (left, top, right, bottom) in enumerate(found.boxes.tolist()):
        label = int(found.labels[number])
        entry = {
            "image_id": image_id,
            "file_name": file_name,
            "category_id": classes.ids[label],
            "category": classes.names[label],
            "bbox": [left, top, right - left, bottom - top],
            "score": float(found.scores[number]),
        }
        if found.masks is not None:
            entry["segmentation"] = found.masks[number].rle(found.height, found.width)
        entries.append(entry)
    return entries
