"""Attention within windows by torch's fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.attention.precision import autocast_off


def sdpa_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None,
    mask: Tensor | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """Same as :func:`swin_mm.ops.attention.reference_attention`, fused.

    One bias of (nH, N, N) serves all windows by broadcasting. Under autocast it stays float32
    beside half-precision queries where the kernel takes that, which is on the CPU. Values narrower
    than the queries are widened, since the kernel has one dtype for all three.
    """
    if bias is not None:
        bias = bias[None]  # torch's CPU kernel takes a bias of four dimensions only
        bias = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
        if not (q.device.type == "cpu" and bias.dtype == torch.float32):
            bias = bias.to(q.dtype)
    with autocast_off(q.device):
        mixed = F.scaled_dot_product_attention(
            q,
            k,
            v.to(q.dtype),
            attn_mask=mask if bias is None else bias,
            dropout_p=dropout,
            scale=scale,
        )
        return mixed.to(v.dtype)
