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
        return x.permute(0, 3, 1, 2).contiguous()
    return _ChannelsFirst.apply(x)


class _ChannelsFirst(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        return _transpose(x.reshape(batch, -1, channels)).view(batch, channels, height, width)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _ChannelsLast.apply(gradient)


class _ChannelsLast(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        if not x.is_contiguous():  # channels last in memory already, or expanded
            return x.permute(0, 2, 3, 1).contiguous()
        batch, channels, height, width = x.shape
        return _transpose(x.view(batch, channels, -1)).view(batch, height, width, channels)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _ChannelsFirst.apply(gradient)


def _transpose(x: Tensor) -> Tensor:
    """Turn matrices, (B, rows, columns), one after the other."""
    out = x.new_empty(x.shape[0], x.shape[2], x.shape[1])
    for matrix, turned in zip(x, out, strict=True):
        turned.copy_(matrix.t())
    return out
