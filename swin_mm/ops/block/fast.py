"""A block on some windows, fast on a processor: few passes over memory, and none unneeded."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.attention import attend_in_parts
from swin_mm.ops.attention.cosine import unit_length
from swin_mm.ops.block.weights import BlockWeights, LinearWeights, NormWeights
from swin_mm.ops.block.windows import WindowBatch, split_heads


class Kept(NamedTuple):
    """What the gradient is computed from, besides the block's input.

    Attributes:
        given1: what queries, keys and values are made of, (n * N, C), zero at padding.
        moments1: mean and 1 / deviation of what norm1 was given, row by row.
        qkv: queries, keys and values, (n * N, 3 C).
        attended: what the attention gives for real tokens, (real, C).
        branch1: what norm1 was given where norms come last, (real, C).
        middle: tokens between the branches, (real, C).
        given2: what the FFN is given, (real, C).
        moments2: of what norm2 was given.
        hidden: the FFN's hidden channels before GELU, (real, hidden).
        active: and after it.
        branch2: what norm2 was given where norms come last.
    """

    given1: Tensor
    moments1: tuple[Tensor, Tensor]
    qkv: Tensor
    attended: Tensor
    branch1: Tensor | None
    middle: Tensor
    given2: Tensor
    moments2: tuple[Tensor, Tensor]
    hidden: Tensor
    active: Tensor
    branch2: Tensor | None

    def flat(self) -> list[Tensor | None]:
        """All tensors, in an order of their own."""
        return [*self.moments1, *self.moments2, *(t for t in self if not isinstance(t, tuple))]

    @classmethod
    def from_flat(cls, flat: Sequence[Tensor | None]) -> Kept:
        """Go the way back."""
        moments1, moments2, (given1, qkv, *rest) = tuple(flat[:2]), tuple(flat[2:4]), flat[4:]
        attended, branch1, middle, given2, hidden, active, branch2 = rest
        return cls(
            given1, moments1, qkv, attended, branch1, middle,
            given2, moments2, hidden, active, branch2,
        )  # fmt: skip


FLAT = 13
"""Tensors in :meth:`Kept.flat`."""


def block_forward(
    x: Tensor,
    weights: BlockWeights,
    *,
    windows: WindowBatch,
    dtype: torch.dtype,
    keep: bool,
    again: bool = False,
) -> tuple[Tensor | None, Kept | None]:
    """Do what :func:`swin_mm.ops.block.reference_block` does, writing into ``x`` on the way.

    Args:
        x: tokens window by window, (n * N, C), for this function to write into.
        weights: what the block has learned, its linear layers in ``dtype``.
        windows: what holds for these windows.
        dtype: what linear layers compute in.
        keep: whether to keep what :func:`swin_mm.ops.block.block_backward` needs.
        again: whether that is all that is wanted, and what becomes of the tokens is known.

    Returns:
        What becomes of the real tokens, (real, C), and what is kept.
    """
    post_norm, branch1, branch2 = weights.post_norm, None, None
    usual = windows.real is None and windows.full
    y = x
    if not post_norm:
        y, *moments1 = norm(x, weights.norm1)
    if windows.padding is not None:
        y = y.index_fill_(0, windows.padding, 0)
    # Norms last, y is x, which the residual is about to be added to in place.
    given1 = y.clone() if keep and post_norm and x.dtype == dtype else y.to(dtype)
    qkv = linear(given1, weights.qkv, usual=usual)
    attended = windows.take_real(_attend(qkv, weights, windows))
    y = linear(attended, weights.proj, usual=usual)
    if post_norm:
        branch1, (y, *moments1) = y, norm(y, weights.norm1)
    middle = windows.take_real(x).add_(windows.keep(y, 0))

    y = middle
    if not post_norm:
        y, *moments2 = norm(middle, weights.norm2)
    given2 = y.to(dtype)
    hidden = linear(given2, weights.fc1, usual=usual)
    active = F.gelu(hidden) if keep else torch.ops.aten.gelu_(hidden)
    y = None if again and not post_norm else linear(active, weights.fc2, usual=usual)
    if post_norm:
        branch2, (y, *moments2) = y, norm(y, weights.norm2)
    if not keep:
        return middle.add_(windows.keep(y, 1)), None
    kept = Kept(
        given1, tuple(moments1), qkv, attended, branch1, middle,
        given2, tuple(moments2), hidden, active, branch2,
    )  # fmt: skip
    return None if again else (middle + windows.keep(y, 1)).to(x.dtype), kept


def linear(x: Tensor, layer: LinearWeights, *, usual: bool = False) -> Tensor:
    """Apply a linear layer to (rows, in).

    torch's own writes the bias first and adds the product. oneDNN adds it on the way, in half
    precision 5 to 10% of a block faster, but keeps a compiled kernel for each number of rows: so
    it is called for the ``usual`` one alone.
    """
    if usual and fuses(x, layer):
        return torch.ops.mkldnn._linear_pointwise(x, layer.weight, layer.bias, "none", [], "")
    return F.linear(x, layer.weight, layer.bias)


def linear_gelu(x: Tensor, layer: LinearWeights) -> Tensor:
    """Apply a linear layer to (rows, in), and GELU on the way, where :func:`fuses` says so.

    For the usual number of rows alone, as above.
    """
    return torch.ops.mkldnn._linear_pointwise(x, layer.weight, layer.bias, "gelu", [], "none")


def fuses(x: Tensor, layer: LinearWeights) -> bool:
    """Say whether oneDNN adds this layer's bias on the way, as it does in half precision."""
    wanted = x.dtype == torch.bfloat16 and layer.bias is not None
    return wanted and torch._C._get_mkldnn_enabled() and _has_onednn()


@functools.cache
def _has_onednn() -> bool:
    """Say whether oneDNN is there, and computes in bfloat16."""
    operators = torch.ops.mkldnn
    return (
        torch.backends.mkldnn.is_available()
        and hasattr(operators, "_linear_pointwise")
        and operators._is_mkldnn_bf16_supported()
    )


def norm(x: Tensor, weights: NormWeights) -> tuple[Tensor, Tensor, Tensor]:
    """Apply a LayerNorm to (rows, C), and return mean and 1 / deviation of every row too.

    x may be of half precision where the norm is not.
    """
    return torch.native_layer_norm(x, x.shape[-1:], weights.weight, weights.bias, weights.eps)


def _attend(qkv: Tensor, weights: BlockWeights, windows: WindowBatch) -> Tensor:
    """Let tokens of each window attend, (n * N, 3 C) to (n * N, C)."""
    q, k, v = split_heads(qkv, weights.num_heads, windows.tokens)
    scale = weights.scale
    if weights.cosine_scale is not None:
        q, k, scale = unit_length(q).mul_(weights.cosine_scale), unit_length(k), 1.0
    attended = attend_in_parts(
        q, k, v, bias=weights.bias, masks=windows.masks, scale=scale, dropout=0.0
    )
    return attended.transpose(1, 2).reshape(len(qkv), -1)
