"""Maps from channels last, as the network computes, to channels first, as necks expect them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from swin_mm.ops.calls import is_plain_call


def channels_first(x: Tensor) -> Tensor:
    """Lay (B, H, W, C) out as contiguous (B, C, H, W).

    On the CPU picture by picture: torch transposes matrices block by block, which is several times
    faster than its copy of a permuted map, forwards and backwards.
    """
    if x.device.type != "cpu" or not is_plain_call(x):
        # A copy in any case: whether there is one would be asked of a traced size.
        return x.permute(0, 3, 1, 2).clone(memory_format=torch.contiguous_format)
    return _ChannelsFirst.apply(x)


class _ChannelsFirst(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return _transpose(x.flatten(1, 2)).unflatten(2, x.shape[1:3])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        if not is_plain_call(gradient):  # mapped over
            return gradient.permute(0, 2, 3, 1).contiguous()
        return _ChannelsLast.apply(gradient)


class _ChannelsLast(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        if not x.is_contiguous():  # channels last in memory already, or expanded
            return x.permute(0, 2, 3, 1).contiguous()
        return _transpose(x.flatten(2)).unflatten(1, x.shape[2:])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return channels_first(gradient)


def _transpose(x: Tensor) -> Tensor:
    """Turn matrices, (B, rows, columns), one after the other."""
    out = x.new_empty(x.shape[0], x.shape[2], x.shape[1])
    for matrix, turned in zip(x, out, strict=True):
        turned.copy_(matrix.t())
    return out
