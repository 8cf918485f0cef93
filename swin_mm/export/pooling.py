"""Adaptive pooling for exporters: averages as matrices that the map's size makes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class AveragingPool(nn.Module):
    """What ``nn.AdaptiveAvgPool2d`` computes, by two matrix products.

    Runtimes have no operator for it: exporters lay its windows out for the one size they see.

    Args:
        output_size: rows and columns of the result, or one number for both; ``None`` keeps an axis.
    """

    def __init__(self, output_size: int | tuple[int | None, int | None] | None) -> None:
        super().__init__()
        pair = output_size if isinstance(output_size, tuple) else (output_size, output_size)
        self.rows, self.columns = pair

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, C, H, W) to (B, C, rows, columns)."""
        if self.columns is not None:
            x = _average(x, self.columns)
        if self.rows is not None:
            x = _average(x.mT, self.rows).mT
        return x


def _average(x: Tensor, bins: int) -> Tensor:
    """Average over shares of the last axis, (B, C, H, W) to (B, C, H, bins).

    As a product of two matrices: of more dimensions, a tracer asks whether sizes are 1.
    """
    batch, channels, height, width = x.shape
    lines = x.clone(memory_format=torch.contiguous_format).view(batch * channels * height, width)
    means = torch.mm(lines, averages(width, bins, like=x).T)
    return means.view(batch, channels, height, bins)


def averages(length: int, bins: int, *, like: Tensor) -> Tensor:
    """Write the means over equal shares of an axis as a matrix.

    Bin i reaches from floor(i L / bins) to ceil((i + 1) L / bins), so that neighbours may overlap.

    Args:
        length: of the axis, L; may be an exporter's unknown.
        bins: number of shares.
        like: of the dtype and on the device of the result.

    Returns:
        (bins, length); rows add up to 1.
    """
    place = torch.arange(length, device=like.device)
    inside = torch.stack(
        [
            (place >= index * length // bins) & (place < ((index + 1) * length + bins - 1) // bins)
            for index in range(bins)
        ]
    ).to(like.dtype)
    return inside / inside.sum(1, keepdim=True)
