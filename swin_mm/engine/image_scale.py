"""A recipe on smaller or larger pictures: every size of its pipelines times one factor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from swin_mm.checking import SPLITS
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

_SIZES = ("scale", "scales", "crop_size", "size", "img_scale")


def scale_pictures(cfg: Config, factor: float, notes: Notes) -> None:
    """Multiply what the pipelines resize and crop to; ratios and chances stay.

    Raises:
        UsageError: if the factor is not positive, or nothing in the config has a size.
    """
    if not 0 < factor < math.inf:
        raise UsageError(f"--image-scale must be a number above 0, got {factor:g}")
    before = _test_size(cfg)
    for split in SPLITS:
        loader = cfg.get(f"{split}_dataloader")
        if loader:
            loader["dataset"] = _scaled_tree(loader["dataset"], factor)
    if "tta_pipeline" in cfg:
        cfg.tta_pipeline = _scaled_tree(cfg.tta_pipeline, factor)
    preprocessor = cfg.model.get("data_preprocessor") or {}
    if preprocessor.get("size"):
        preprocessor["size"] = _scaled_size(preprocessor["size"], factor)
    if preprocessor.get("batch_augments"):
        divisor = preprocessor.get("pad_size_divisor", 1)
        batches = _scaled_tree(preprocessor["batch_augments"], factor)
        for step in batches:
            if "size" in step:  # pictures have been padded to the divisor before
                step["size"] = tuple(math.ceil(side / divisor) * divisor for side in step["size"])
        preprocessor["batch_augments"] = batches
    after = _test_size(cfg)
    if before is None:
        raise UsageError("--image-scale: no pipeline of this config resizes to a fixed size")
    notes.say(
        f"Pictures: every size times {factor:g}; tested within {after} px in place of {before}"
    )


def _scaled_tree(node: Any, factor: float) -> Any:
    """Copy a config's branch with the sizes of its transforms scaled."""
    if isinstance(node, list | tuple):
        return type(node)(_scaled_tree(child, factor) for child in node)
    if not isinstance(node, Mapping):
        return node
    relative = str(node.get("crop_type", "")).startswith("relative")
    return {
        key: _scaled_size(value, factor)
        if key in _SIZES and "type" in node and not relative
        else _scaled_tree(value, factor)
        for key, value in node.items()
    }


def _scaled_size(value: Any, factor: float) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_scaled_size(one, factor) for one in value)
    return max(1, round(value * factor)) if isinstance(value, int | float) else value


def _test_size(cfg: Config) -> str | None:
    for split in reversed(SPLITS):
        loader = cfg.get(f"{split}_dataloader") or {}
        for step in loader.get("dataset", {}).get("pipeline", ()):
            if isinstance(step.get("scale"), list | tuple):
                return "x".join(str(side) for side in step["scale"])
    return None
