"""Predictions of a test in one file, for other programs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from mmengine.evaluator import BaseMetric, DumpResults

from swin_mm.engine.errors import UsageError

_PART = ".part"
_LEFT_OUT = ("gt_", "ignored_", "seg_logits")


class PredictionFile(BaseMetric):
    """Gather the predictions of all processes and write them as JSON, in COCO's results format.

    Instances: one entry each, with box (x, y, width, height, px), score and, where there is one,
    the mask as RLE; `COCO.loadRes` reads it for boxes and for masks. Segmentations: one entry a
    picture and class that occurs there, as COCO-Stuff's results, with the path as `image_id` and
    the label, counted from 0, as `category_id`.

    Args:
        path: the file, written when all is known.

    Attributes:
        category_ids: the data set's number of each label; the label itself where there is none.
    """

    def __init__(self, path: str) -> None:
        super().__init__(collect_device="cpu", prefix="predictions")
        self.path = path
        self.category_ids: Sequence[int] = ()

    def process(self, data_batch: Any, data_samples: Sequence[dict]) -> None:
        """Keep what was found in a batch."""
        for sample in data_samples:
            if "pred_instances" in sample:
                self.results.append((sample["img_id"], _instances(sample["pred_instances"])))
            elif "pred_sem_seg" in sample:
                labels = np.asarray(sample["pred_sem_seg"]["data"].cpu()).squeeze(0)
                self.results.append((sample["img_path"], _regions(labels)))

    def compute_metrics(self, results: list[tuple[int | str, list[dict]]]) -> dict[str, float]:
        """Write the file."""
        meta = self.dataset_meta or {}
        names = meta.get("classes", ())
        ids = self.category_ids
        entries = []
        for image_id, found in results:
            for entry in found:
                label = entry.pop("label")
                category = ids[label] if ids else label
                named = {"category": names[label]} if label < len(names) else {}
                entries.append({"image_id": image_id, "category_id": category, **named, **entry})
        with open(self.path + _PART, "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(self.path + _PART, self.path)
        return {}


class PickledPredictions(DumpResults):
    """MMEngine's dump of all that a model returned, as MMDetection's tools read it.

    Without the truth and the scores of every pixel, and with masks as RLE; written beside and
    renamed.
    """

    def process(self, data_batch: Any, predictions: Sequence[dict]) -> None:
        """Keep what was found in a batch."""
        before = len(self.results)
        super().process(data_batch, predictions)
        for sample in self.results[before:]:
            for name in [key for key in sample if key.startswith(_LEFT_OUT)]:
                del sample[name]
            found = sample.get("pred_instances", {})
            if "masks" in found:
                found["masks"] = [_encode(mask) for mask in found["masks"].numpy()]

    def compute_metrics(self, results: list) -> dict:
        """Write the file."""
        path, self.out_file_path = self.out_file_path, self.out_file_path + ".part.pkl"
        super().compute_metrics(results)
        os.replace(self.out_file_path, path)
        self.out_file_path = path
        return {}


def require_place(path: str, *, force: bool) -> None:
    """Check, before anything slow, that predictions can be written under a file's name.

    Args:
        path: the file, which need not be there, nor its folder.
        force: whether it may be there.

    Raises:
        UsageError: if it ends neither in `.json` nor in `.pkl`, or is there.
    """
    if not path.endswith((".json", ".pkl", ".pickle")):
        raise UsageError(f"--out must end in .json (COCO's results) or .pkl (all), got {path}")
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} exists: --force replaces it, --out FILE writes another")


def writer_for(path: str) -> BaseMetric:
    """Choose how to write predictions by a file's name."""
    if folder := os.path.dirname(path):
        os.makedirs(folder, exist_ok=True)
    return PredictionFile(path) if path.endswith(".json") else PickledPredictions(path)


def _instances(found: dict) -> list[dict]:
    boxes = np.asarray(found["bboxes"].cpu(), dtype=float)
    entries = []
    for number, (x1, y1, x2, y2) in enumerate(boxes):
        entry = {
            "label": int(found["labels"][number]),
            "bbox": [x1, y1, x2 - x1, y2 - y1],
            "score": float(found["scores"][number]),
        }
        if "masks" in found:
            entry["segmentation"] = _rle(found["masks"][number])
        entries.append(entry)
    return entries


def _regions(labels: np.ndarray) -> list[dict]:
    return [
        {"label": int(label), "segmentation": _rle(labels == label)} for label in np.unique(labels)
    ]


def _rle(mask: Any) -> dict:
    """Encode a mask, (H, W), as JSON takes it."""
    rle = _encode(np.asarray(mask))
    return {"size": [int(side) for side in rle["size"]], "counts": rle["counts"].decode()}


def _encode(mask: np.ndarray) -> dict:
    from pycocotools import mask as coco_mask

    return coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))
