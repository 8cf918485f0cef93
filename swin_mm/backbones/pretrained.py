"""MMEngine's ``init_cfg`` and MMDetection's older arguments for pretrained weights."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.model.weight_init import PretrainedInit

InitCfg = Mapping | Sequence[Mapping] | None

_OPTIONS = ("prefix", "layout", "resize_bias", "unsafe")


def join_init_cfg(
    init_cfg: InitCfg, pretrained: str | None, convert_weights: bool | None
) -> InitCfg:
    """Express the older arguments as an ``init_cfg``, each with one note.

    Raises:
        ValueError: if both ``pretrained`` and ``init_cfg`` are given.
        TypeError: if one is of another type.
    """
    _check_types(init_cfg, pretrained)
    if convert_weights is not None:
        warnings.warn(
            "convert_weights is not needed: the layout of a checkpoint is recognised",
            FutureWarning,
            stacklevel=5,
        )
    if pretrained is None:
        return init_cfg
    if init_cfg is not None:
        raise ValueError(
            "give either init_cfg or pretrained, not both, got "
            f"pretrained={pretrained!r} and init_cfg={init_cfg!r}"
        )
    cfg = {"type": "Pretrained", "checkpoint": pretrained}
    warnings.warn(f"pretrained is deprecated; say init_cfg={cfg!r}", FutureWarning, stacklevel=5)
    return cfg


def _check_types(init_cfg: InitCfg, pretrained: str | None) -> None:
    cfgs = [] if init_cfg is None else [init_cfg] if isinstance(init_cfg, Mapping) else init_cfg
    is_list = isinstance(cfgs, list | tuple)
    if not is_list or not all(isinstance(cfg, Mapping) and "type" in cfg for cfg in cfgs):
        raise TypeError(
            "init_cfg must be dict(type=..., ...) or a list of such, as "
            f"dict(type='Pretrained', checkpoint=FILE), got {init_cfg!r}"
        )
    if not isinstance(pretrained, str | os.PathLike | None):
        raise TypeError(f"pretrained must name a file or URL, got {pretrained!r}")


def split_init_cfg(init_cfg: InitCfg) -> tuple[list[Mapping], list[Mapping]]:
    """Divide an ``init_cfg`` into checkpoints to read and other initialisations.

    Raises:
        ValueError: if a ``Pretrained`` entry names no checkpoint.
    """
    cfgs = [] if init_cfg is None else [init_cfg] if isinstance(init_cfg, Mapping) else init_cfg
    pretrained = [cfg for cfg in cfgs if cfg["type"] in ("Pretrained", PretrainedInit)]
    for cfg in pretrained:
        if not cfg.get("checkpoint"):
            raise ValueError(
                f"init_cfg of type Pretrained must name a file or URL as checkpoint, got {cfg!r}"
            )
    return pretrained, [cfg for cfg in cfgs if cfg not in pretrained]


def load_options(cfg: Mapping) -> dict[str, Any]:
    """Read what a ``Pretrained`` entry says besides its file, for the loader.

    Args:
        cfg: may have MMEngine's ``prefix``, and ``layout``, ``resize_bias`` and ``unsafe`` of
            :func:`swin_mm.checkpoints.load_pretrained`. MMEngine's ``map_location`` is not needed:
            weights go where the model is.

    Raises:
        ValueError: if it says something else.
    """
    strays = [name for name in cfg if name not in (*_OPTIONS, "type", "checkpoint", "map_location")]
    if strays:
        raise ValueError(
            f"init_cfg of type Pretrained takes checkpoint, {', '.join(_OPTIONS)}, got "
            f"{', '.join(strays)} in {dict(cfg)!r}"
        )
    return {name: cfg[name] for name in _OPTIONS if name in cfg}
