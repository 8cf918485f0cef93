"""Where the pictures and the truth of a run's test data lie, for either task."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from mmengine.config import Config

from swin_mm.engine.config import as_list
from swin_mm.engine.datasets import datasets_of
from swin_mm.engine.errors import UsageError
from swin_mm.reporting.detection import SCORE, judge_detections
from swin_mm.reporting.judgement import Judgement
from swin_mm.reporting.samples import Item
from swin_mm.reporting.segmentation import (
    IGNORED,
    LabelPictures,
    as_labels,
    by_path,
    judge_segmentations,
    read_truth,
)

if TYPE_CHECKING:
    from pycocotools.coco import COCO

Found = Mapping[str, Any]
# By picture: its path, what is there, what was found.
Open = Callable[[int | str], tuple[str, list[Item], list[Item]]]


@dataclass(frozen=True)
class Scenes:
    """Predictions beside the truth.

    Attributes:
        judgement: what they are worth.
        names: of the labels that items bear.
        open: opens one picture.
    """

    judgement: Judgement
    names: tuple[str, ...]
    open: Open


def open_scenes(cfg: Config, found: Sequence[Found]) -> Scenes:
    """Judge predictions by the data set and the evaluator of a config's test.

    Args:
        cfg: of the run, its host imported, its data in place.
        found: what `tools/test.py --out FILE.json` wrote.

    Raises:
        UsageError: if the evaluator is neither COCO's nor that of IoU, or the predictions are of
            another task.
    """
    kinds = [str(one.get("type")).split(".")[-1] for one in as_list(cfg.get("test_evaluator"))]
    labelled = [one for one in found if "score" not in one]
    if "CocoMetric" in kinds:
        if labelled:
            raise UsageError("the predictions are labelled pixels, this run's model finds objects")
        return _open_detections(cfg, found, kinds.index("CocoMetric"))
    if "IoUMetric" in kinds:
        if len(labelled) < len(found):
            raise UsageError("the predictions are objects, this run's model labels pixels")
        truth = read_truth(cfg)
        return Scenes(judge_segmentations(truth, found), truth.names, _open_labels(truth, found))
    raise UsageError(
        "figures by class need CocoMetric or IoUMetric as test_evaluator, this config has "
        f"{', '.join(kinds) or 'none'}"
    )


def _open_detections(cfg: Config, found: Sequence[Found], evaluator: int) -> Scenes:
    from pycocotools.coco import COCO

    dataset = next(datasets_of(cfg, "test"))
    root = dataset.get("data_root") or ""
    file = as_list(cfg.test_evaluator)[evaluator].get("ann_file")
    file = file or os.path.join(root, dataset["ann_file"])
    coco = COCO(file)
    known = set(coco.getImgIds())
    strays = {one["image_id"] for one in found} - known
    if strays:
        raise UsageError(
            f"the predictions are of other pictures than {file} lists: {len(strays)} of their "
            f"image_ids, {min(strays, key=str)} for one, are not in it"
        )
    numbers = _categories(coco, dataset)
    names = tuple(one["name"] for one in coco.loadCats(numbers))
    folder = os.path.join(root, (dataset.get("data_prefix") or {}).get("img", ""))
    opened = _open_objects(coco, found, folder, numbers)
    return Scenes(judge_detections(coco, found, categories=numbers), names, opened)


def _categories(coco: COCO, dataset: Mapping[str, Any]) -> list[int]:
    """Choose the categories that the data set names: of the others the model knows nothing."""
    from mmdet.registry import DATASETS

    kind = DATASETS.get(dataset["type"])
    classes = list(kind._load_metainfo(dataset.get("metainfo")).get("classes") or ())
    numbers = coco.getCatIds(catNms=classes)
    if not numbers:  # which COCO's tools would take for all
        raise UsageError(
            f"none of the data set's classes, {', '.join(classes)}, is among the categories of its "
            "annotations"
        )
    return numbers


def _open_objects(coco: COCO, found: Sequence[Found], folder: str, numbers: Sequence[int]) -> Open:
    labels = {number: label for label, number in enumerate(numbers)}
    by_image = defaultdict(list)
    for entry in found:
        if entry["score"] >= SCORE and entry["category_id"] in labels:
            by_image[entry["image_id"]].append(entry)

    def items(entries: Sequence[Found]) -> list[Item]:
        return [
            Item(
                labels[one["category_id"]],
                coco.annToMask(one).astype(bool) if one.get("segmentation") else None,
                tuple(one["bbox"]),
            )
            for one in entries
        ]

    def open_(image: int | str) -> tuple[str, list[Item], list[Item]]:
        truth = coco.loadAnns(coco.getAnnIds(image, catIds=numbers, iscrowd=False))
        path = os.path.join(folder, coco.loadImgs(image)[0]["file_name"])
        return path, items(truth), items(by_image[image])

    return open_


def _open_labels(truth: LabelPictures, found: Sequence[Found]) -> Open:
    by_picture = by_path(truth.paths, found)

    def items(labels: np.ndarray) -> list[Item]:
        present = np.unique(labels[labels < min(IGNORED, len(truth.names))])
        return [Item(int(label), labels == label) for label in present]

    def open_(image: int | str) -> tuple[str, list[Item], list[Item]]:
        number = truth.paths.index(image)
        return str(image), items(truth.load(number)), items(as_labels(by_picture[number]))

    return open_
