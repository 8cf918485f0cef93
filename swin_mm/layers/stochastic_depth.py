"""Stochastic depth."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """Drop a residual branch, per picture, in training (Huang et al. 2016).

    What is kept is scaled up by 1 / (1 - rate), so that the mean stays.

    Args:
        rate: chance to drop.
    """

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Drop pictures of (B, ...); in evaluation, or at rate 0, the input itself."""
        if not self.training or self.rate == 0.0:
            return x
        keep = 1.0 - self.rate
        # Drawn in float32: half-precision random numbers are too coarse for small rates.
        drawn = torch.rand(x.shape[0], *[1] * (x.dim() - 1), device=x.device)
        return x * (drawn < keep).to(x.dtype).div(keep) if keep else torch.zeros_like(x)

    def extra_repr(self) -> str:
        """Show the rate."""
        return f"rate={self.rate:.3f}"
