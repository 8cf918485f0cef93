"""Detections in COCO's results format, judged beside COCO's annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swin_mm.reporting.judgement import BACKGROUND, Confusion, Graded, Judgement, Table

if TYPE_CHECKING:
    from pycocotools.coco import COCO

IOU = 0.5  # from which on a detection is that of an object
SCORE = 0.3  # from which on it counts in confusions and is drawn
_MOST = (100, 300, 1000)  # detections of a picture, as MMDetection evaluates
_COLUMNS = ("AP", "AP50", "AP75", "AP small", "AP medium", "AP large", "objects")
_TITLES = {"bbox": "Boxes", "segm": "Masks"}

Found = Mapping[str, Any]


def judge_detections(
    coco: COCO, found: Sequence[Found], *, categories: Sequence[int] | None = None
) -> Judgement:
    """Compute AP by class, confusions, and how well each picture was done.

    Args:
        coco: the annotations.
        found: entries of COCO's results format, with `segmentation` or not.
        categories: numbers of those that the model was to find, all by default; others count
            neither way.
    """
    categories = coco.getCatIds() if categories is None else categories
    by_image = defaultdict(list)
    for entry in found:
        by_image[entry["image_id"]].append(entry)
    labels = {number: label for label, number in enumerate(categories)}
    counts = np.zeros((len(labels) + 1, len(labels) + 1), dtype=np.int64)
    graded = []
    for image in coco.getImgIds():
        truth = coco.loadAnns(coco.getAnnIds(image, catIds=categories))
        pairs = match(truth, by_image[image], labels)
        np.add.at(counts, tuple(pairs.T), 1)
        hits = int((pairs[:, 0] == pairs[:, 1]).sum())
        objects = int((pairs[:, 0] < len(labels)).sum())
        detections = int((pairs[:, 1] < len(labels)).sum())
        if len(pairs):
            graded.append(Graded(image, 2 * hits / (objects + detections), objects))
    names = (*(one["name"] for one in coco.loadCats(categories)), BACKGROUND)
    kinds = [
        kind
        for kind in _TITLES
        if all((kind == "bbox") or "segmentation" in entry for entry in found)
    ]
    return Judgement(
        tuple(_average_precision(coco, found, kind, categories) for kind in kinds),
        Confusion(names, counts, "objects", background=True),
        tuple(graded),
        measure=f"F1 of the picture's boxes at IoU {IOU} and score {SCORE}",
        rules=f"Boxes with a score of {SCORE} or more, the surest first, take the object they "
        f"overlap most at IoU {IOU} or more, of their own class before any other; each object is "
        "taken once. The background's row holds detections of nothing, its column what was missed.",
    )


def match(truth: Sequence[Found], found: Sequence[Found], labels: Mapping[int, int]) -> np.ndarray:
    """Pair the objects of a picture with its detections, each once.

    Args:
        truth: COCO's annotations; what lies in a crowd counts neither way.
        found: detections, in any order; those below `SCORE` are left out.
        labels: by category number; the background's is their count.

    Returns:
        Label of the object and of the detection, (pairs, 2).
    """
    from pycocotools import mask

    background = len(labels)
    sure = [one for one in found if one["score"] >= SCORE and one["category_id"] in labels]
    sure.sort(key=lambda one: -one["score"])
    crowd = [bool(one.get("iscrowd")) for one in truth]
    if not truth or not sure:
        overlaps = np.zeros((len(sure), len(truth)))
    else:
        boxes = [np.array([one["bbox"] for one in part], float) for part in (sure, truth)]
        overlaps = np.asarray(mask.iou(*boxes, [int(one) for one in crowd]))
    kinds = np.array([labels[one["category_id"]] for one in truth], dtype=int)
    guesses = [labels[one["category_id"]] for one in sure]
    free = ~np.array(crowd, dtype=bool)
    pairs: list[tuple[int, int]] = []
    open_ = list(range(len(sure)))
    for own in (True, False):
        for number in list(open_):
            allowed = free & (kinds == guesses[number]) if own else free
            at = np.where(allowed, overlaps[number], 0)
            if len(at) and at.max() >= IOU:
                best = int(at.argmax())
                free[best] = False
                open_.remove(number)
                pairs.append((int(kinds[best]), guesses[number]))
    in_crowd = overlaps[:, np.array(crowd, dtype=bool)].max(1, initial=0) >= IOU
    pairs += [(background, guesses[number]) for number in open_ if not in_crowd[number]]
    pairs += [(int(kind), background) for kind in kinds[free]]
    return np.array(pairs, dtype=int).reshape(-1, 2)


def _average_precision(
    coco: COCO, found: Sequence[Found], kind: str, categories: Sequence[int]
) -> Table:
    from pycocotools.cocoeval import COCOeval

    # A mask's size is its own, not that of the box beside it, as MMDetection has it.
    left_out = {"segm": "bbox", "bbox": "segmentation"}[kind]
    entries = [{key: one[key] for key in one if key != left_out} for one in found]
    names = [one["name"] for one in coco.loadCats(categories)]
    counts = [len(coco.getAnnIds(catIds=[number], iscrowd=False)) for number in categories]
    if entries:
        judge = COCOeval(coco, coco.loadRes(entries), kind)
        judge.params.maxDets = list(_MOST)
        judge.params.catIds = list(categories)
        judge.evaluate()
        judge.accumulate()
        precision = judge.eval["precision"]  # (IoUs, recalls, classes, sizes, limits)
    else:
        there = np.array(counts)[None, None, :, None, None] > 0
        precision = np.where(there, 0.0, -1.0) * np.ones((10, 1, 1, 4, 1))
    rows = tuple(
        (name, (*_figures(precision[:, :, [label]]), float(count)))
        for label, (name, count) in enumerate(zip(names, counts, strict=True))
    )
    return Table(_TITLES[kind], _COLUMNS, rows, (*_figures(precision), float(sum(counts))))


def _figures(precision: np.ndarray) -> tuple[float, ...]:
    parts = [precision[:, :, :, 0, -1], precision[0, :, :, 0, -1], precision[5, :, :, 0, -1]]
    parts += [precision[:, :, :, size, -1] for size in (1, 2, 3)]
    return tuple(_mean(part[part > -1]) for part in parts)


def _mean(values: np.ndarray) -> float:
    return 100 * float(values.mean()) if values.size else float("nan")
