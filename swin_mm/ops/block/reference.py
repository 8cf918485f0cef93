"""A block on some windows, written out: the truth that the fast one is measured against."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.attention.cosine import unit_length
from swin_mm.ops.attention.reference import reference_attention
from swin_mm.ops.block.weights import BlockWeights, LinearWeights, NormWeights
from swin_mm.ops.block.windows import WindowBatch, split_heads


def reference_block(
    x: Tensor, weights: BlockWeights, *, windows: WindowBatch, dtype: torch.dtype
) -> Tensor:
    """Attention, then FFN, each beside a residual (Liu et al. 2021, eq. 3; 2022, fig. 1).

    Autograd can differentiate it as often as anyone likes.

    Args:
        x: tokens window by window, (n * N, C); those that are padding hold anything.
        weights: what the block has learned.
        windows: what holds for these windows.
        dtype: what linear layers compute in.

    Returns:
        What becomes of the real tokens, (real, C).
    """

    weights = weights.computing_in(dtype)

    def attention(y: Tensor) -> Tensor:
        y = _linear(windows.hide_padding(y).to(dtype), weights.qkv)
        return _linear(windows.take_real(_attend(y, weights, windows)), weights.proj)

    def ffn(y: Tensor) -> Tensor:
        return _linear(F.gelu(_linear(y.to(dtype), weights.fc1)), weights.fc2)

    if weights.post_norm:
        branch = _norm(attention(x), weights.norm1)
    else:
        branch = attention(_norm(x, weights.norm1))
    x = windows.take_real(x) + windows.keep(branch, 0)
    branch = _norm(ffn(x), weights.norm2) if weights.post_norm else ffn(_norm(x, weights.norm2))
    return x + windows.keep(branch, 1)


def _attend(qkv: Tensor, weights: BlockWeights, windows: WindowBatch) -> Tensor:
    """Let (n * N, 3 C) attend, to (n * N, C)."""
    q, k, v = split_heads(qkv, weights.num_heads, windows.tokens)
    scale = weights.scale
    if weights.cosine_scale is not None:
        q, k, scale = unit_length(q) * weights.cosine_scale, unit_length(k), 1.0
    sizes = [number for number, _ in windows.masks]
    parts = [
        reference_attention(*part, bias=weights.bias, mask=mask, scale=scale, dropout=0.0)
        for (_, mask), *part in zip(
            windows.masks, q.split(sizes), k.split(sizes), v.split(sizes), strict=True
        )
    ]
    return torch.cat(parts).transpose(1, 2).reshape(len(qkv), -1)


def _linear(x: Tensor, layer: LinearWeights) -> Tensor:
    return F.linear(
        x, layer.weight.to(x.dtype), None if layer.bias is None else layer.bias.to(x.dtype)
    )


def _norm(x: Tensor, norm: NormWeights) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)
