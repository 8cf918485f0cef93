"""Half precision where most of the time goes and nothing else suffers: backbone and neck."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def halve(model: nn.Module) -> None:
    """Run a model's backbone and neck under autocast: float16 on a GPU, bfloat16 on the CPU.

    Heads stay in float32: mmcv's operators know no bfloat16, and boxes of large pictures need more
    than its eight bits.

    Args:
        model: a detector or segmentor; its `extract_feat` is replaced.
    """
    extract = model.extract_feat

    def extract_halved(*pictures: Any, **more: Any) -> Any:
        kind = next(model.parameters()).device.type
        dtype = torch.bfloat16 if kind == "cpu" else torch.float16
        with torch.autocast(kind, dtype=dtype):
            maps = extract(*pictures, **more)
        return _whole(maps)

    model.extract_feat = extract_halved


def _whole(maps: Any) -> Any:
    """Turn maps back into float32, however they are held."""
    if isinstance(maps, Tensor):
        return maps.float()
    return type(maps)(_whole(one) for one in maps)
