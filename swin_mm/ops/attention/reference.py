"""Attention within windows, written out: the truth that other backends are measured against."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.attention.precision import autocast_off


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

    Scores are formed in the dtype of q, but for float16, whose range they can leave; they are
    summed with the bias and normalised in float32 at least. Arguments and result as in
    :func:`swin_mm.ops.attention.window_attention`.
    """
    with autocast_off(q.device):
        if q.dtype == torch.float16:
            q, k = q.float(), k.float()
        scores = (q * scale) @ k.transpose(-2, -1)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1).to(v.dtype)
        return F.dropout(weights, dropout) @ v
