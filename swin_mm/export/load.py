"""The part of a config's model that is exported, with weights, and what is to be said of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from torch import nn

from swin_mm.checkpoints import load_pretrained
from swin_mm.export.description import Description, Part, Pixels
from swin_mm.export.errors import ExportError
from swin_mm.export.parts import Segmentor, describe, take_part


def load_part(
    cfg: Any, checkpoint: str | None, part: Part, *, unsafe: bool = False
) -> tuple[nn.Module, Description]:
    """Build a part of a config's model on the CPU, and fill it.

    A backbone alone takes any published layout, a classifier's or a detector's; more than that
    takes the checkpoint of a model like it.

    Args:
        cfg: MMEngine's, of a detector or segmentor.
        checkpoint: a file or URL; ``None`` for random weights.
        part: which part.
        unsafe: run the code that the file wants to run; only for files you trust.

    Returns:
        The network in evaluation mode, float32, and what it is.

    Raises:
        ExportError: if there is no such part, or it cannot be exported.
        CheckpointError: if the file cannot be read, or does not fill it.
    """
    from swin_mm.inference.model import load_model  # a bare backbone does without hosts

    pixels = Pixels.of(cfg.model.get("data_preprocessor") or cfg.get("data_preprocessor") or {})
    meta: Mapping[str, Any] = {}
    if part == "backbone":
        model = nn.Module()
        model.backbone = _build(cfg, {**cfg.model.backbone, "init_cfg": None})
        network = take_part(model, part)
        if checkpoint is not None:
            load_pretrained(network, checkpoint, unsafe=unsafe)
    elif checkpoint is None:
        model = _build(cfg, cfg.model)
        network = take_part(model, part, pixels=pixels)
    else:
        model, meta = load_model(cfg, checkpoint, device="cpu", unsafe=unsafe)
        network = take_part(model, part, pixels=pixels)
    return network.float(), describe(
        network, part, pixels, classes=_class_names(cfg, meta, network)
    )


def _build(cfg: Any, described: Mapping[str, Any]) -> nn.Module:
    from mmengine.model import revert_sync_batchnorm
    from mmengine.registry import MODELS

    from swin_mm.inference.registered import scope_of

    with scope_of(cfg, MODELS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of losses, which export nothing
        try:
            return revert_sync_batchnorm(MODELS.build(described))
        except Exception as error:  # the hosts' classes fail in any way
            raise ExportError(f"the config's model cannot be built: {error}") from error


def _class_names(cfg: Any, meta: Mapping[str, Any], network: nn.Module) -> tuple[str, ...]:
    if not isinstance(network, Segmentor):
        return ()
    from swin_mm.inference.classes import classes_of

    count = network.head.out_channels
    return classes_of(cfg, meta, count=count, instances=False).names
