"""The gradient of a block on some windows, written out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from swin_mm.ops.attention.cosine import lengths
from swin_mm.ops.block.fast import Kept
from swin_mm.ops.block.sums import GradientSums
from swin_mm.ops.block.weights import BlockWeights, NormWeights
from swin_mm.ops.block.windows import WindowBatch, split_heads


def block_backward(
    gradient: Tensor,
    x: Tensor,
    *,
    kept: Kept,
    weights: BlockWeights,
    windows: WindowBatch,
    sums: GradientSums,
) -> Tensor:
    """Go from the gradient of a block's output to that of its input and weights.

    Args:
        gradient: of the real tokens after the block, (real, C); overwritten.
        x: tokens before the block, window by window, (n * N, C).
        kept: what :func:`swin_mm.ops.block.block_forward` kept.
        weights: what the block has learned, as in the forward pass.
        windows: what holds for these windows.
        sums: where the weights' gradients are added.

    Returns:
        Gradient of the real tokens before the block, (real, C).
    """
    post_norm, dtype = weights.post_norm, kept.qkv.dtype

    branch = windows.keep(gradient, 1)
    if post_norm:
        branch = _norm_backward(
            branch, kept.branch2, moments=kept.moments2, norm=weights.norm2, sums=sums
        )
    branch = branch.to(dtype)
    sums.add_linear(weights.fc2, branch, kept.active)
    branch = branch @ weights.fc2.weight
    branch = torch.ops.aten.gelu_backward.grad_input(branch, kept.hidden, grad_input=branch)
    sums.add_linear(weights.fc1, branch, kept.given2)
    branch = branch @ weights.fc1.weight
    if not post_norm:
        branch = _norm_backward(
            branch, kept.middle, moments=kept.moments2, norm=weights.norm2, sums=sums
        )
    gradient += branch

    branch = windows.keep(gradient, 0)
    if post_norm:
        branch = _norm_backward(
            branch, kept.branch1, moments=kept.moments1, norm=weights.norm1, sums=sums
        )
    branch = branch.to(dtype)
    sums.add_linear(weights.proj, branch, kept.attended)
    branch = windows.put_real(branch @ weights.proj.weight)
    branch = _attend_backward(branch, kept.qkv, weights=weights, windows=windows, sums=sums)
    sums.add_linear(weights.qkv, branch, kept.given1)
    branch = windows.take_real(branch @ weights.qkv.weight)
    if not post_norm:
        moments = [windows.take_real(moment) for moment in kept.moments1]
        branch = _norm_backward(
            branch, windows.take_real(x), moments=moments, norm=weights.norm1, sums=sums
        )
    gradient += branch
    return gradient


def _norm_backward(
    gradient: Tensor, x: Tensor, *, moments: Sequence[Tensor], norm: NormWeights, sums: GradientSums
) -> Tensor:
    """Go back through a LayerNorm whose input was x, (rows, C)."""
    found, weight, bias = torch.ops.aten.native_layer_norm_backward(
        gradient.to(x.dtype),
        x,
        x.shape[-1:],
        *moments,
        norm.weight,
        norm.bias,
        [True, sums.needs(norm.weight), sums.needs(norm.bias)],
    )
    for tensor, part in ((norm.weight, weight), (norm.bias, bias)):
        if sums.needs(tensor):
            sums.add(tensor, part)
    return found


def _attend_backward(
    gradient: Tensor,
    qkv: Tensor,
    *,
    weights: BlockWeights,
    windows: WindowBatch,
    sums: GradientSums,
) -> Tensor:
    """Go back through the attention: from (n * N, C) to (n * N, 3 C).

    In float32 at least. Matrices this small are multiplied no faster in half precision.
    """
    wide = torch.promote_types(qkv.dtype, torch.float32)
    heads, cosine = split_heads(qkv, weights.num_heads, windows.tokens), weights.cosine_scale
    q, k, v = heads.new_empty(heads.shape, dtype=wide).copy_(heads)
    if cosine is not None:
        lengths_of_q, lengths_of_k = lengths(q), lengths(k)
        directions = q.div_(lengths_of_q)
        q, k = directions * cosine, k.div_(lengths_of_k)
    else:
        q *= weights.scale
    above = gradient.view(len(q), windows.tokens, weights.num_heads, -1)
    g = q.new_empty(q.shape).copy_(above.transpose(1, 2))
    p = q @ k.transpose(-2, -1)
    p += weights.bias
    first = 0
    for number, mask in windows.masks:
        if mask is not None:
            p[first : first + number].masked_fill_(~mask, float("-inf"))
        first += number
    p = torch.softmax(p, -1)
    result = torch.empty_like(qkv)
    dq, dk, dv = split_heads(result, weights.num_heads, windows.tokens)
    dv.copy_(p.transpose(-2, -1) @ g)
    s = torch.ops.aten._softmax_backward_data(g @ v.transpose(-2, -1), p, -1, wide)
    if sums.needs(weights.bias):
        sums.add(weights.bias, s.sum(0))
    to_q, to_k = s @ k, s.transpose(-2, -1) @ q
    if cosine is not None:
        sums.add(cosine, (to_q * directions).sum((0, 2, 3), keepdim=True)[0])
        to_q = _length_backward(to_q.mul_(cosine), directions, lengths_of_q)
        to_k = _length_backward(to_k, k, lengths_of_k)
    else:
        to_q *= weights.scale
    dq.copy_(to_q)
    dk.copy_(to_k)
    return result


def _length_backward(gradient: Tensor, directions: Tensor, lengths_of: Tensor) -> Tensor:
    """Go back through the division by a vector's own length."""
    along = (gradient * directions).sum(-1, keepdim=True)
    return gradient.sub_(directions * along).div_(lengths_of)
