"""Necks and heads follow the backbone's width, where only the backbone was changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from mmengine.config import Config
from mmengine.registry import MODELS

from swin_mm.engine.config import as_list
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

# What reads the maps of a neck, and by which argument it knows their channels.
_READERS_OF_NECK = (
    "rpn_head.in_channels",
    "rpn_head.proposal_feature_channel",
    "bbox_head.in_channels",
    "roi_head.proposal_feature_channel",
    "roi_head.bbox_roi_extractor.out_channels",
    "roi_head.bbox_head.in_channels",
    "roi_head.bbox_head.dynamic_conv_cfg.in_channels",
    "roi_head.bbox_head.dynamic_conv_cfg.out_channels",
    "roi_head.mask_roi_extractor.out_channels",
    "roi_head.mask_head.in_channels",
    "decode_head.in_channels",
    "auxiliary_head.in_channels",
)


def match_channels(cfg: Config, given: Iterable[str], notes: Notes) -> None:
    """Let the channels that one part of a model reads be those that the part before it gives.

    `model.backbone.variant=base` or `model.neck.out_channels=64` on a command line mean the whole
    model; what reads those maps follows, and a note says so. Channels set on the command line
    are never changed, and neither is a config that contradicts itself: both are errors.

    Raises:
        UsageError: if channels contradict each other, or the backbone cannot be built.
    """
    given = set(given)
    touched = any(key.startswith("model.backbone") for key in given)
    channels = _channels_of_backbone(cfg)
    if channels is not None:
        for path, reader, right in _readers_of_backbone(cfg, channels):
            _set_channels(path, reader, "in_channels", right, touched, given, notes)
    _follow_neck(cfg, given, notes)


def _channels_of_backbone(cfg: Config) -> list[int] | None:
    """Build the backbone without weights or memory, and ask it; `None` if it does not tell."""
    backbone_cfg = {key: value for key, value in cfg.model.backbone.items() if key != "init_cfg"}
    try:
        try:
            with torch.device("meta"):
                backbone = MODELS.build(backbone_cfg)
        except (RuntimeError, NotImplementedError):  # MMDetection's own Swin reads a tensor
            backbone = MODELS.build(backbone_cfg)
    except (TypeError, ValueError, KeyError) as error:
        message = error.args[0] if error.args else error
        raise UsageError(f"model.backbone cannot be built: {message}") from error
    channels = getattr(backbone, "out_channels", None)
    if channels is None and hasattr(backbone, "num_features"):  # MMDetection's own Swin
        features = backbone.num_features
        if isinstance(features, Sequence):
            channels = [features[index] for index in backbone.out_indices]
    return list(channels) if isinstance(channels, Sequence) else None


def _readers_of_backbone(cfg: Config, channels: list[int]) -> Iterator[tuple[str, dict, Any]]:
    """Go through what reads the backbone's maps, with the channels that it should expect."""
    neck = cfg.model.get("neck")
    if neck is not None:
        if isinstance(neck, dict) and isinstance(neck.get("in_channels"), Sequence):
            yield "model.neck", neck, channels
        return
    for name in ("decode_head", "auxiliary_head", "panoptic_head"):
        heads = cfg.model.get(name)
        for number, head in enumerate(as_list(heads)):
            path = f"model.{name}.{number}" if isinstance(heads, list) else f"model.{name}"
            index, old = head.get("in_index"), head.get("in_channels")
            if index is None and isinstance(old, list | tuple):  # Mask2Former's: all maps
                yield path, head, channels
            if index is None or old is None:
                continue
            indices = as_list(index)
            if max(indices) >= len(channels) or min(indices) < -len(channels):
                raise UsageError(
                    f"{path}.in_index={index} must name maps of the backbone, which gives "
                    f"{len(channels)}; set it, or model.backbone.out_indices"
                )
            read = [channels[one] for one in indices]
            yield path, head, read if isinstance(index, list | tuple) else read[0]


def _set_channels(
    path: str, reader: dict, key: str, right: Any, touched: bool, given: set[str], notes: Notes
) -> None:
    old = reader[key]
    same_form = not isinstance(right, list) or len(right) == len(old)
    if old == right or (isinstance(right, list) and list(old) == right):
        return
    if not touched or f"{path}.{key}" in given or not same_form:
        raise UsageError(
            f"{path}.{key} must be what it is given: {old} is set, but the part before it gives "
            f"{right}; say {path}.{key}={_written(right)}"
        )
    reader[key] = right
    notes.say(f"{path}.{key}={_written(right)}, as the backbone gives (the config has {old})")


def _follow_neck(cfg: Config, given: set[str], notes: Notes) -> None:
    """Hand a neck's `out_channels` from the command line on to the heads."""
    if "model.neck.out_channels" not in given:
        return
    width = cfg.model.neck.out_channels
    changed = []
    for reader in _READERS_OF_NECK:
        *parents, key = reader.split(".")
        for path, node in _nodes(cfg.model, parents, "model"):
            if key not in node:
                continue
            old = node[key]
            right = [width] * len(old) if isinstance(old, list | tuple) else width
            _set_channels(path, node, key, right, True, given, Notes(False))
            if node[key] != old:
                changed.append(f"{path}.{key}".removeprefix("model."))
    if changed:
        notes.say(f"model.neck.out_channels={width}, and so are {', '.join(changed)}")


def _nodes(node: Any, names: Sequence[str], path: str) -> Iterator[tuple[str, dict]]:
    """Go down a config by names; a cascade's heads are a list, of which all are meant."""
    if isinstance(node, list):
        for number, one in enumerate(node):
            yield from _nodes(one, names, f"{path}.{number}")
    elif isinstance(node, dict) and not names:
        yield path, node
    elif isinstance(node, dict):
        yield from _nodes(node.get(names[0]), names[1:], f"{path}.{names[0]}")


def _written(value: Any) -> str:
    return "[" + ",".join(map(str, value)) + "]" if isinstance(value, list) else str(value)
