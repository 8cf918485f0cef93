"""Random weights that hide nothing: at fresh ones, a flipped table or a permuted norm is blind."""

import torch
from torch import nn


def randomise(module: nn.Module, seed: int = 0) -> nn.Module:
    """Draw every parameter, tables, biases and norms too, from a normal of std 0.15 or 0.3."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        std = 0.15 if parameter.dim() > 1 else 0.3
        parameter.data.normal_(std=std, generator=generator)
    return module


def worst_difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """Largest absolute difference by the largest absolute value; infinite where either is NaN.

    Not NaN itself: `max` of several would pass over it.
    """
    ours, theirs = ours.detach(), theirs.detach()
    worst = (ours - theirs).abs().max()
    if worst == 0:
        return 0.0
    return float((worst / theirs.abs().max()).nan_to_num(nan=float("inf")))
