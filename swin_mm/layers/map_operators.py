"""Merging and output norms by compiled kernels as operators, for graphs of torch.compile.

As in :mod:`swin_mm.layers.block_operator`: a graph that holds these knows the sizes of maps, and no
index is computed from them, whose rounded-up halves torch's compiler thinks about for minutes.
For the gradient the input alone is kept. What operators take has no names: torch's schemas of
them have an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.kernels import NormTensors, merge_normed, norm_to_map
from swin_mm.ops.precision import autocast_off


@torch.library.custom_op(
    "swin_mm::merge",
    mutates_args=(),
    schema="(Tensor x, Tensor[] affine, Tensor[] layer, float eps, ScalarType dtype, "
    "ScalarType asked) -> Tensor",
)
def merge_operator(
    x: Tensor,
    affine: Sequence[Tensor],
    layer: Sequence[Tensor],
    eps: float,
    dtype: torch.dtype,
    asked: torch.dtype,
) -> Tensor:
    """Make one token of every 2 x 2 neighbours of (B, H, W, C), zeros outside the map.

    The product is part of it, since torch's compiler computes gradients of products under autocast,
    whatever they were computed in.

    Args:
        x: tokens.
        affine: weight and bias of the norm over 4 C, one neighbour after the other; nothing for no
            norm.
        layer: weight (out, 4 C), likewise, and perhaps bias of the linear layer.
        eps: the norm's.
        dtype: what the product is computed in, and its gradients.
        asked: dtype of the result, (B, ceil(H / 2), ceil(W / 2), out).
    """
    merged = _merged(x, affine, eps, dtype)
    with autocast_off(x.device):
        return F.linear(merged, *(one.to(dtype) for one in layer)).to(asked)


@torch.library.custom_op(
    "swin_mm::norm_to_map",
    mutates_args=(),
    schema="(Tensor x, Tensor[] affine, float eps) -> Tensor",
)
def norm_to_map_operator(x: Tensor, affine: Sequence[Tensor], eps: float) -> Tensor:
    """Norm tokens, (B, H, W, C), and lay them out as a contiguous map, (B, C, H, W).

    Args:
        x: tokens.
        affine: weight and bias of the norm over C.
        eps: the norm's.
    """
    out = x.new_empty(_map_shape(x))
    norm_to_map(x.contiguous(), out, norm=NormTensors.of(*affine, eps))
    return out


@torch.library.custom_op(
    "swin_mm::merge_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor x, Tensor[] affine, Tensor[] layer, float eps, "
    "ScalarType dtype) -> Tensor[]",
)
def _merge_backward(
    gradient: Tensor,
    x: Tensor,
    affine: Sequence[Tensor],
    layer: Sequence[Tensor],
    eps: float,
    dtype: torch.dtype,
) -> list[Tensor]:
    """Give the gradients of x, of the norm's weight and bias, and of the layer's."""
    merged, weight = _merged(x, affine, eps, dtype), layer[0].to(dtype)
    above = gradient.reshape(-1, gradient.shape[-1]).to(dtype)
    with autocast_off(x.device):
        below = (above @ weight).view(merged.shape)
        of_layer = [above.t() @ merged.flatten(0, 2), above.sum(0)][: len(layer)]
    found = [below.to(x.dtype)]
    if affine:
        found = _norm_backward(below, _neighbours(x), affine, eps)
    of_layer = [part.to(one.dtype) for part, one in zip(of_layer, layer, strict=True)]
    return [_apart(found[0], x), *found[1:], *of_layer]


@torch.library.custom_op(
    "swin_mm::norm_to_map_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor x, Tensor[] affine, float eps) -> Tensor[]",
)
def _map_backward(
    gradient: Tensor, x: Tensor, affine: Sequence[Tensor], eps: float
) -> list[Tensor]:
    """Give the gradients of x, and of the norm's weight and bias."""
    return _norm_backward(gradient.permute(0, 2, 3, 1).contiguous(), x, affine, eps)


@merge_operator.register_fake
def _(
    x: Tensor,
    affine: Sequence[Tensor],
    layer: Sequence[Tensor],
    eps: float,
    dtype: torch.dtype,
    asked: torch.dtype,
) -> Tensor:
    return x.new_empty((*_merged_shape(x)[:3], layer[0].shape[0]), dtype=asked)


@norm_to_map_operator.register_fake
def _(x: Tensor, affine: Sequence[Tensor], eps: float) -> Tensor:
    return x.new_empty(_map_shape(x))


@_merge_backward.register_fake
def _(
    gradient: Tensor,
    x: Tensor,
    affine: Sequence[Tensor],
    layer: Sequence[Tensor],
    eps: float,
    dtype: torch.dtype,
) -> list[Tensor]:
    return [one.new_empty(one.shape) for one in (x, *affine, *layer)]


@_map_backward.register_fake
def _(gradient: Tensor, x: Tensor, affine: Sequence[Tensor], eps: float) -> list[Tensor]:
    return [one.new_empty(one.shape) for one in (x, *affine)]


def _save_merging(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, affine, layer, ctx.eps, ctx.dtype, _ = inputs
    ctx.affine = len(affine)
    ctx.save_for_backward(x, *affine, *layer)


def _differentiate_merging(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, *learned = ctx.saved_tensors
    affine, layer = learned[: ctx.affine], learned[ctx.affine :]
    below, *found = _merge_backward(gradient, x, affine, layer, ctx.eps, ctx.dtype)
    return below, found[: ctx.affine], found[ctx.affine :], None, None, None


def _save_map(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, affine, ctx.eps = inputs
    ctx.save_for_backward(x, *affine)


def _differentiate_map(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, *affine = ctx.saved_tensors
    below, *found = _map_backward(gradient, x, affine, ctx.eps)
    return below, found, None


merge_operator.register_autograd(_differentiate_merging, setup_context=_save_merging)
norm_to_map_operator.register_autograd(_differentiate_map, setup_context=_save_map)


def _merged(x: Tensor, affine: Sequence[Tensor], eps: float, dtype: torch.dtype) -> Tensor:
    """Lay 2 x 2 neighbours behind each other, and norm them, (..., 4 C)."""
    merged = x.new_empty(_merged_shape(x), dtype=dtype)
    merge_normed(x.contiguous(), merged, norm=NormTensors.of(*affine, eps) if affine else None)
    return merged


def _norm_backward(
    gradient: Tensor, x: Tensor, affine: Sequence[Tensor], eps: float
) -> list[Tensor]:
    """Go back through a LayerNorm of x, (..., C), in float32."""
    wide, shape = [one.float() for one in affine], x.shape[-1:]
    x32 = x.float().contiguous()
    _, *moments = torch.native_layer_norm(x32, shape, *wide, eps)
    found = torch.ops.aten.native_layer_norm_backward(
        gradient.float(), x32, shape, *moments, *wide, [True, True, True]
    )
    return [part.to(one.dtype) for part, one in zip(found, (x, *affine), strict=True)]


def _merged_shape(x: Tensor) -> tuple[int, ...]:
    batch, height, width, channels = x.shape
    return batch, (height + 1) // 2, (width + 1) // 2, 4 * channels


def _map_shape(x: Tensor) -> tuple[int, ...]:
    return x.shape[0], x.shape[3], x.shape[1], x.shape[2]


def _neighbours(x: Tensor) -> Tensor:
    """Lay 2 x 2 neighbours behind each other, zeros outside the map."""
    batch, rows, columns, _ = _merged_shape(x)
    padded = x.new_zeros(batch, 2 * rows, 2 * columns, x.shape[3])
    padded[:, : x.shape[1], : x.shape[2]] = x
    parts = padded.view(batch, rows, 2, columns, 2, x.shape[3])
    return parts.transpose(2, 3).reshape(_merged_shape(x))


def _apart(merged: Tensor, x: Tensor) -> Tensor:
    """Undo :func:`_neighbours`: what there is outside the map is lost."""
    batch, rows, columns, _ = merged.shape
    parts = merged.view(batch, rows, columns, 2, 2, x.shape[3]).transpose(2, 3)
    padded = parts.reshape(batch, 2 * rows, 2 * columns, x.shape[3])
    return padded[:, : x.shape[1], : x.shape[2]].clone(memory_format=torch.contiguous_format)
