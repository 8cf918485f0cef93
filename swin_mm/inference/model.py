"""A detector or segmentor, built from its config and filled from its checkpoint, whole."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import MODELS
from torch import Tensor, nn

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints.containers import unwrap
from swin_mm.checkpoints.models import prefix_of_model, prefix_of_swin, without_module
from swin_mm.inference.registered import scope_of


def load_model(
    cfg: Config, checkpoint: str, *, device: str | torch.device, unsafe: bool = False
) -> tuple[nn.Module, Mapping[str, Any]]:
    """Build a config's model and fill it from a checkpoint.

    `mmdet.apis.init_detector` and `mmseg.apis.init_model` do the same for one task each, but run
    what a hostile file wants run, leave parts that the file lacks as they were drawn, and take
    COCO's or Cityscapes' names where the file has none.

    Args:
        cfg: a config of MMDetection's or MMSegmentation's.
        checkpoint: a file or URL, read without running code.
        device: where to.
        unsafe: run the code that the file wants to run; only for files you trust.

    Returns:
        The model in evaluation mode, and the checkpoint's `meta`.

    Raises:
        CheckpointError: if the file cannot be read, or does not fill the model.
    """
    content = read_checkpoint(checkpoint, unsafe=unsafe)
    tensors = _model_in(unwrap(content).tensors)
    with scope_of(cfg, MODELS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of losses, which predict nothing
        model = revert_sync_batchnorm(MODELS.build(cfg.model))
    try:
        missing, _ = model.load_state_dict(tensors, strict=False)
    except CheckpointError as error:  # the backbone's own, of other sizes
        raise CheckpointError(_misfit(checkpoint, [str(error)])) from error
    except RuntimeError as error:
        misfits = [line.strip() for line in str(error).splitlines()[1:]]
        raise CheckpointError(_misfit(checkpoint, misfits)) from error
    missing = [name for name in missing if not name.endswith("num_batches_tracked")]
    if missing:
        lines = [*_parts_without(missing, tensors), *(f"it has no {name}" for name in missing)]
        raise CheckpointError(_misfit(checkpoint, lines))
    meta = content.get("meta")
    return model.to(device).eval(), meta if isinstance(meta, Mapping) else {}


def _model_in(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Take off what stands before a model's own names, as `module.` or `detector.`."""
    outer = prefix_of_model(map(without_module, tensors)) or ""
    return {without_module(name).removeprefix(outer): value for name, value in tensors.items()}


def _parts_without(missing: list[str], tensors: Mapping[str, Tensor]) -> list[str]:
    """Say in a line which parts of a model have nothing in a file; no line if each has some."""
    held = {name.partition(".")[0] for name in tensors}
    parts = dict.fromkeys(name.partition(".")[0] for name in missing)
    empty = [part for part in parts if part not in held]
    if held == {"backbone"} or ("backbone" in empty and prefix_of_swin(tensors) is not None):
        others = ", ".join(part for part in empty if part != "backbone")
        return [f"it holds a backbone alone, nothing for {others}"] if others else []
    return [f"it has nothing for {', '.join(empty)}"] if empty else []


def _misfit(checkpoint: str, misfits: list[str]) -> str:
    more = f"\n  and {len(misfits) - 3} more" if len(misfits) > 3 else ""
    return (
        f"{checkpoint} does not fill the model of this config:\n  "
        + "\n  ".join(misfits[:3])
        + f"{more}\nUse the config that it was trained with; training writes it beside the file"
    )
