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
        factors = self.factors(x.shape[0], x.device)
        if factors is None:
            return x
        return x * factors.to(x.dtype).view(-1, *[1] * (x.dim() - 1))

    def factors(self, batch: int, device: torch.device) -> Tensor | None:
        """Draw what each picture's branch is multiplied with, (B,); None where nothing is dropped.

        In float32: half-precision random numbers are too coarse for small rates.
        """
        if not self.training or self.rate == 0.0:
            return None
        keep = 1.0 - self.rate
        kept = (torch.rand(batch, device=device) < keep).float()
        return kept / keep if keep else kept

    def extra_repr(self) -> str:
        """Show the rate."""
        return f"rate={self.rate:.3f}"
