"""Labelled pixels in COCO-Stuff's results format, judged beside the data set's label pictures."""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mmengine.config import Config

from swin_mm.engine.config import every_dict
from swin_mm.engine.errors import UsageError
from swin_mm.reporting.judgement import Confusion, Graded, Judgement, Table

IGNORED = 255  # the label of pixels that nobody named

Found = Mapping[str, Any]


@dataclass(frozen=True)
class LabelPictures:
    """The truth of a data set, picture by picture.

    Attributes:
        names: of the labels.
        paths: of the pictures, in the data set's order.
        load: the labels of the picture of a number, (H, W).
    """

    names: tuple[str, ...]
    paths: tuple[str, ...]
    load: Callable[[int], np.ndarray]


def read_truth(cfg: Config) -> LabelPictures:
    """Open the data set of a segmentor's test, its annotations loaded as its pipeline does.

    Raises:
        UsageError: if the pipeline loads none.
    """
    from mmseg.registry import DATASETS, TRANSFORMS

    settings = cfg.test_dataloader.dataset
    loaders = [
        node for node in every_dict(settings) if str(node.get("type")).endswith("LoadAnnotations")
    ]
    if not loaders:
        raise UsageError("the test pipeline loads no annotations: add dict(type='LoadAnnotations')")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that the config's author chose
        dataset = DATASETS.build(settings)
        loader = TRANSFORMS.build(loaders[0])
    infos = [dataset.get_data_info(number) for number in range(len(dataset))]

    def load(number: int) -> np.ndarray:
        return loader(dict(infos[number]))["gt_seg_map"]

    names = tuple(dataset.metainfo["classes"])
    return LabelPictures(names, tuple(info["img_path"] for info in infos), load)


def judge_segmentations(truth: LabelPictures, found: Sequence[Found]) -> Judgement:
    """Compute IoU and accuracy by class, confusions, and how well each picture was done.

    Args:
        truth: labels, `IGNORED` where there is none.
        found: entries of the results format, one a picture and class.

    Raises:
        UsageError: if the predictions are of other pictures.
    """
    by_picture = by_path(truth.paths, found)
    if not by_picture:
        raise UsageError("the predictions are of other pictures than the data set holds")
    size = len(truth.names)
    counts = np.zeros((size, size), dtype=np.int64)
    graded = []
    for number, entries in by_picture.items():
        labels = truth.load(number)
        one = count_pairs(labels, as_labels(entries), size)
        counts += one
        united = one.sum(0) + one.sum(1) - one.diagonal()
        if united.any():
            met = united > 0
            share = float((one.diagonal()[met] / united[met]).mean())
            graded.append(Graded(truth.paths[number], share, float(met.sum())))
    return Judgement(
        (_table(truth.names, counts),),
        Confusion(truth.names, counts, "pixels", background=False),
        tuple(graded),
        measure="mean IoU over the classes that are, or were found, in the picture",
        rules="Each row is divided by the class's own pixels; pixels without a label are left out.",
    )


def by_path(paths: Sequence[str], found: Sequence[Found]) -> dict[int, list[Found]]:
    """Sort entries by picture; by the file's name where no folder fits, as from elsewhere."""
    numbers = {os.path.abspath(path): number for number, path in enumerate(paths)}
    if not any(os.path.abspath(str(entry["image_id"])) in numbers for entry in found):
        names = [os.path.basename(path) for path in paths]
        often = Counter(names)
        numbers = {name: number for number, name in enumerate(names) if often[name] == 1}
        place = os.path.basename
    else:
        place = os.path.abspath
    sorted_ = defaultdict(list)
    for entry in found:
        number = numbers.get(place(str(entry["image_id"])))
        if number is not None:
            sorted_[number].append(entry)
    return dict(sorted(sorted_.items()))


def as_labels(entries: Sequence[Found]) -> np.ndarray:
    """Put the regions of a picture together, (H, W); `IGNORED` where there is none."""
    from pycocotools import mask

    labels = np.full(entries[0]["segmentation"]["size"], IGNORED, dtype=np.int64)
    for entry in entries:
        labels[mask.decode(dict(entry["segmentation"])).astype(bool)] = entry["category_id"]
    return labels


def count_pairs(truth: np.ndarray, found: np.ndarray, size: int) -> np.ndarray:
    """Count the pixels of each pair of labels, (truth, found); the unlabelled are left out.

    Raises:
        UsageError: if the two are not of one size.
    """
    if truth.shape != found.shape:
        raise UsageError(
            f"predictions must be of their picture's size, {found.shape} is not {truth.shape}"
        )
    known = (truth < size) & (found < size)
    pairs = truth[known].astype(np.int64) * size + found[known]
    return np.bincount(pairs, minlength=size * size).reshape(size, size)


def _table(names: Sequence[str], counts: np.ndarray) -> Table:
    """Let MMSegmentation turn areas into figures."""
    import torch
    from mmseg.evaluation.metrics import IoUMetric

    met, found, there = (
        torch.from_numpy(one.copy()) for one in (counts.diagonal(), counts.sum(0), counts.sum(1))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = IoUMetric.total_area_to_metrics(met, found + there - met, found, there)
    columns = [np.asarray(figures[key], float) * 100 for key in ("IoU", "Acc")]
    pixels = counts.sum(1) / max(counts.sum(), 1) * 100
    rows = tuple(
        (name, (float(iou), float(accuracy), float(share)))
        for name, iou, accuracy, share in zip(names, *columns, pixels, strict=True)
    )
    mean = tuple(float(np.nanmean(one)) if not np.isnan(one).all() else np.nan for one in columns)
    return Table("Pixels", ("IoU", "accuracy", "of all pixels"), rows, (*mean, 100.0))
