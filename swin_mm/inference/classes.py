"""What a model's labels are called, which colours they have, and their numbers in results."""

from __future__ import annotations

import colorsys
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmengine.config import Config
from mmengine.logging import print_log
from mmengine.registry import DATASETS

from swin_mm.inference.registered import find_class

# COCO numbers its 80 classes up to 90; these numbers name nothing.
_COCO_GAPS = frozenset({12, 26, 29, 30, 45, 66, 68, 69, 71, 83})


@dataclass(frozen=True)
class Classes:
    """The classes of a model, label by label.

    Attributes:
        names: as the data set has them.
        colours: RGB, 0 to 255.
        ids: numbers in results. Segmentations: the label, counted from 0. Instances: COCO's own
            numbers for COCO's classes, counted from 1 for any others.
    """

    names: tuple[str, ...]
    colours: tuple[tuple[int, int, int], ...]
    ids: tuple[int, ...]

    def as_categories(self) -> list[dict[str, Any]]:
        """The classes as JSON takes them, in the form of COCO's categories."""
        rows = zip(self.ids, self.names, self.colours, strict=True)
        return [{"id": one, "name": name, "color": list(colour)} for one, name, colour in rows]


def classes_of(
    cfg: Config, checkpoint_meta: Mapping[str, Any], *, count: int, instances: bool
) -> Classes:
    """Name a model's classes by what its checkpoint says, or else its config's data set.

    Args:
        cfg: of the model; its data sets need not be there.
        checkpoint_meta: the `meta` of a checkpoint, which may be empty.
        count: classes of the model.
        instances: whether it finds instances; if not, it labels pixels.

    Returns:
        The classes. Where nobody names `count` of them they are numbered, with a warning.
    """
    stated = list(_statements(cfg, checkpoint_meta))
    names = next((said for said, _ in stated if len(said) == count), None)
    if names is None:
        lengths = " or ".join(str(len(said)) for said, _ in stated)
        told = f"names are given for {lengths}" if lengths else "nothing names them"
        print_log(
            f"The model has {count} classes, but {told}: they are numbered. Name them by "
            "test_dataloader.dataset.metainfo.classes",
            logger="current",
            level=logging.WARNING,
        )
        names = tuple(f"class {label}" for label in range(count))
    palettes = (palette for said, palette in stated if said == names and len(palette) == count)
    first = 1 if instances else 0
    ids = tuple(range(first, first + count))
    if instances and names == _coco_names(cfg):
        ids = tuple(number for number in range(1, 91) if number not in _COCO_GAPS)
    return Classes(names, next(palettes, _spread(count)), ids)


def _statements(
    cfg: Config, checkpoint_meta: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], tuple[tuple[int, int, int], ...]]]:
    """Names and colours, from who knows best to who knows least; either may be empty."""
    saved = checkpoint_meta.get("dataset_meta") or {}
    metas = [saved, checkpoint_meta]
    for split in ("test", "val", "train"):
        metas += _metas_of(cfg, (cfg.get(f"{split}_dataloader") or {}).get("dataset"))
    for meta in metas:
        lower = {str(key).lower(): value for key, value in meta.items()}
        names, palette = lower.get("classes"), lower.get("palette")
        if isinstance(names, Sequence) and not isinstance(names, str) and names:
            colours = palette if isinstance(palette, Sequence) else ()
            colours = () if isinstance(colours, str) else colours
            names = map(_printable, names)
            yield tuple(names), tuple(tuple(int(one) for one in colour) for colour in colours)


def _printable(name: Any) -> str:
    """A name that can be drawn and written: JSON may hold halves of letters."""
    return str(name).encode(errors="backslashreplace").decode()


def _metas_of(cfg: Config, dataset: Any) -> Iterator[Mapping[str, Any]]:
    """What a config's data set, or those inside its wrappers, say of themselves."""
    if isinstance(dataset, list | tuple):
        for one in dataset:
            yield from _metas_of(cfg, one)
    if not isinstance(dataset, Mapping):
        return
    if dataset.get("metainfo"):
        yield dataset["metainfo"]
    yield getattr(find_class(cfg, DATASETS, dataset.get("type")), "METAINFO", {})
    for key in ("dataset", "datasets"):
        yield from _metas_of(cfg, dataset.get(key))


def _coco_names(cfg: Config) -> tuple[str, ...]:
    coco = find_class(cfg, DATASETS, "mmdet.CocoDataset")
    return () if coco is None else tuple(coco.METAINFO["classes"])


def _spread(count: int) -> tuple[tuple[int, int, int], ...]:
    """Colours for classes without any: hues a golden section apart, so that neighbours differ."""
    hues = ((label * 0.618034) % 1 for label in range(count))
    colours = (colorsys.hsv_to_rgb(hue, 0.75, 0.9) for hue in hues)
    return tuple((round(255 * r), round(255 * g), round(255 * b)) for r, g, b in colours)
