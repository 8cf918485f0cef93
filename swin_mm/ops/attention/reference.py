"""Attention within windows, written out: the truth that other backends are measured against."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.precision import autocast_off


def reference_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None,
    mask: Tensor | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """softmax(q k^T * scale + bias) v, with the keys that a mask hides left out (eq. 4).

    Scores are formed and normalised in float32 at least: float16 has not their range, and bfloat16
    would round large ones by whole numbers, so that another key wins. Arguments and result as in
    :func:`swin_mm.ops.attention.window_attention`.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    with autocast_off(q.device):
        scores = (q.to(wide) * scale) @ k.to(wide).transpose(-2, -1)
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1).to(v.dtype)
        return F.dropout(weights, dropout) @ v
