"""Scenes in the layout of COCO 2017's instance annotations."""

from pathlib import Path
from typing import Any

import numpy as np

from .coco_categories import coco_categories
from .outlines import area, polygons, run_lengths
from .scene import Scene, Thing

FOLDERS = ("annotations", "train2017", "val2017")


def picture_file(split: str, image_id: int) -> str:
    """Where a picture of 'train' or 'val' lies, from the root of the data set."""
    return f"{split}2017/{image_id:012d}.jpg"


def annotation_file(split: str) -> str:
    """Where the annotations of 'train' or 'val' lie, from the root of the data set."""
    return f"annotations/instances_{split}2017.json"


def annotations(scene: Scene, image_id: int) -> list[dict[str, Any]]:
    """COCO's annotations of a scene, without their own ids.

    A thing is told by the polygons of what shows of it, a crowd by run
    lengths; area (px^2) and box (left, top, width, height, px) are those of
    the polygons or of the runs.
    """
    told = (_annotation(thing, scene.size) for thing in scene.things)
    return [{"image_id": image_id, **entry} for entry in told if entry]


def _annotation(thing: Thing, size: tuple[int, int]) -> dict[str, Any] | None:
    entry = {"iscrowd": int(thing.crowd), "category_id": thing.kind.coco_id}
    if thing.crowd:
        mask = thing.mask(size)
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        if not len(rows):
            return None
        left, top, right, bottom = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
        entry |= {"segmentation": run_lengths(mask), "area": int(mask.sum())}
    else:
        parts = polygons(thing.cover, thing.corner)
        if not parts:
            return None
        (left, top), (right, bottom) = (f(np.vstack(parts), axis=0) for f in (np.min, np.max))
        entry |= {
            "segmentation": [part.round(2).reshape(-1).tolist() for part in parts],
            "area": round(area(parts), 2),
        }
    box = (left, top, right - left, bottom - top)
    return entry | {"bbox": [round(float(edge), 2) for edge in box]}


def instances(
    split: str, size: tuple[int, int], told: list[tuple[int, list[dict[str, Any]]]]
) -> dict[str, Any]:
    """The content of `instances_{split}2017.json`.

    Args:
        split: 'train' or 'val'.
        size: width and height of all pictures, px.
        told: for each picture its id and its annotations.
    """
    flat = [entry for _, entries in told for entry in entries]
    first = 10 * told[0][0] if told else 1  # the splits share no annotation ids
    return {
        "info": {"description": f"swin_mm offline scenes, {split}"},
        "licenses": [{"id": 1, "name": "CC0 1.0", "url": ""}],
        "images": [
            {
                "license": 1,
                "file_name": Path(picture_file(split, image_id)).name,
                "height": size[1],
                "width": size[0],
                "id": image_id,
            }
            for image_id, _ in told
        ],
        "annotations": [entry | {"id": first + k} for k, entry in enumerate(flat)],
        "categories": coco_categories(),
    }
