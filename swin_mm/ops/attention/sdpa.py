"""Attention within windows by torch's fused kernels."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.precision import autocast_off

SCORES = 2**25
"""Scores whose gradient may exist at once where a bias learns: 128 MB of float32."""

WINDOWS = 65_535
"""Windows of one call, by the largest grid of CUDA; beyond it torch fails or writes scores out."""

ALIGNMENT = 8
"""Elements at whose multiples CUDA's kernel wants the rows of a bias to start."""


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

    The kernels of CUDA have a gradient for the bias, but one of every window, (windows, nH, N, N),
    which is summed afterwards. So windows are then taken some at a time.
    """
    together = _windows_at_once(q, bias)
    shared = mask is None or mask.dim() == 2
    if together is None:
        return _fused(q, k, v, _joined(bias, mask, q), scale=scale, dropout=dropout)
    added = _joined(bias, mask, q) if shared else None
    parts = []
    for start in range(0, q.shape[0], together):
        part = slice(start, start + together)
        own = added if shared else _joined(bias, mask[part], q)
        mixed = _fused(q[part], k[part], v[part], own, scale=scale, dropout=dropout)
        parts.append(mixed.transpose(1, 2))
    # Joined as the kernel lays them out, heads inside tokens, so that none is copied again.
    return torch.cat(parts).transpose(1, 2)


def _fused(
    q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, *, scale: float, dropout: float
) -> Tensor:
    """Call the kernel, in the queries' dtype; the result is of the values'."""
    with autocast_off(q.device):
        mixed = F.scaled_dot_product_attention(
            q, k, v.to(q.dtype), attn_mask=added, dropout_p=dropout, scale=scale
        )
        return mixed.to(v.dtype)


def _windows_at_once(q: Tensor, bias: Tensor | None) -> int | None:
    """Say how many windows one call may take; ``None`` where all of them may.

    While tracing, where a loop would be unrolled, they always may.
    """
    if q.device.type == "cpu" or torch.compiler.is_compiling():
        return None
    windows, heads, tokens, _ = q.shape
    together = WINDOWS
    if bias is not None and bias.requires_grad and torch.is_grad_enabled():
        together = min(max(SCORES // (heads * tokens**2), 1), WINDOWS)
    return None if windows <= together else together


def _joined(bias: Tensor | None, mask: Tensor | None, q: Tensor) -> Tensor | None:
    """Make of bias and mask what the kernel adds to the scores, (1 or windows, nH, N, N)."""
    if bias is None:
        return mask
    bias = bias[None]  # torch's CPU kernel takes a bias of four dimensions only
    bias = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    if q.device.type != "cpu":
        bias = aligned(bias.to(q.dtype))
    elif bias.dtype != torch.float32 or q.dtype == torch.float64:  # where it would be misread
        bias = bias.to(q.dtype)
    # Traced, a bias of 1 beside n windows would set n = 1 apart from all others.
    return bias.expand(q.shape[0], -1, -1, -1) if torch.compiler.is_compiling() else bias


def aligned(bias: Tensor) -> Tensor:
    """Lay a bias out with rows that start at multiples of :data:`ALIGNMENT`; the values are its.

    Torch does so by itself, at every call; done here, it is done once for all windows.
    """
    tokens = bias.shape[-1]
    return F.pad(bias, (0, -tokens % ALIGNMENT))[..., :tokens] if tokens % ALIGNMENT else bias
