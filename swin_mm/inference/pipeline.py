"""A config's test pipeline, for pictures that are in memory already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config

from swin_mm.inference.errors import InferenceError


def steps_of(cfg: Config) -> list[dict]:
    """The steps of the pipeline that a config tests pictures with."""
    loader = cfg.get("test_dataloader") or cfg.get("val_dataloader") or {}
    pipeline = (loader.get("dataset") or {}).get("pipeline") or cfg.get("test_pipeline") or []
    return [dict(step) for step in pipeline]


def split_pipeline(
    cfg: Config, pipeline: Sequence[Mapping] | None = None
) -> tuple[dict[str, Any], list[dict]]:
    """Take the reading out of a pipeline, and the truth, which nobody has.

    Args:
        cfg: whose scope and, by default, whose test pipeline it is.
        pipeline: another one.

    Returns:
        Arguments for :func:`read_picture`, and the steps, which begin with a picture in memory.

    Raises:
        InferenceError: if the pipeline does not begin with reading a file.
    """
    steps = steps_of(cfg) if pipeline is None else [dict(step) for step in pipeline]
    first, *rest = steps or [{"type": "nothing"}]
    name = name_of(first)
    if name.rpartition(".")[2] != "LoadImageFromFile":
        raise InferenceError(
            "the test pipeline (test_dataloader.dataset.pipeline) must begin with "
            f"LoadImageFromFile, it begins with {name}"
        )
    reading = {"colour": first.get("color_type", "color"), "backend": first.get("imdecode_backend")}
    scope = cfg.get("default_scope")
    loading = {"type": f"{scope}.LoadImageFromNDArray" if scope else "LoadImageFromNDArray"}
    loading["to_float32"] = first.get("to_float32", False)
    return reading, [loading, *_without_truth(rest)]


def _without_truth(steps: Sequence[Mapping]) -> list[dict]:
    """Leave out the loading of annotations, inside test-time augmentation too."""
    kept = []
    for step in steps:
        if "LoadAnnotations" in name_of(step):
            continue
        step = dict(step)
        if name_of(step).rpartition(".")[2] == "TestTimeAug":
            choices = (_without_truth(choice) for choice in step["transforms"])
            step["transforms"] = [choice for choice in choices if choice]
        kept.append(step)
    return kept


def name_of(step: Mapping[str, Any]) -> str:
    """The name of a step, whether the config names it or the class."""
    kind = step["type"]
    return kind if isinstance(kind, str) else kind.__name__
