"""Prepare a config for predictions: the work behind `tools/infer.py` before a model is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmengine.config import Config

from swin_mm.engine.channels import match_channels
from swin_mm.engine.config import import_host, read_config
from swin_mm.engine.launch import choose_device, needs_operators, use_device
from swin_mm.engine.notes import Notes
from swin_mm.engine.options import merge_options
from swin_mm.engine.safe_loading import allow_safe_reading


def configure(
    path: str, options: Mapping[str, Any], *, device: str | None = None, unsafe: bool = False
) -> tuple[Config, str]:
    """Read a config and say where it will run.

    Args:
        path: of the config.
        options: settings of the config by dotted key.
        device: by torch's name; a GPU where it can be used by default.
        unsafe: run the code that weight files want to run.

    Raises:
        UsageError: if the config cannot be used, or the device.
    """
    allow_safe_reading(unsafe=unsafe)  # before anything of the hosts is built
    notes = Notes()
    cfg = read_config(path, needs=["model.backbone"])
    merge_options(cfg, options, notes)
    import_host(cfg)
    chosen = choose_device(needs_operators(cfg), device)
    use_device(chosen, cfg, notes)
    match_channels(cfg, options, notes)
    return cfg, chosen.name
