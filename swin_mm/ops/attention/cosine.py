"""From queries and keys to the scaled cosines between them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

LARGEST_SCALE = 100.0
_SHORTEST = 1e-12


def scaled_cosines(q: Tensor, k: Tensor, logit_scale: Tensor) -> tuple[Tensor, Tensor]:
    """Scale queries and keys so that their products are cosines by a learned factor.

    cos(q, k) / tau of SwinV2 (Liu et al. 2022, eq. 2), with tau no smaller than 0.01. In float32
    at least: a cosine rounded to half precision is off by 0.4 once it is scaled by 100.

    Args:
        q: queries, (windows, nH, N, d).
        k: keys, like q.
        logit_scale: log(1 / tau) of every head, (nH, 1, 1).

    Returns:
        Queries and keys for :func:`swin_mm.ops.window_attention` with ``scale=1.0``.
    """
    return unit_length(q) * cosine_scale(logit_scale), unit_length(k)


def cosine_scale(logit_scale: Tensor) -> Tensor:
    """Return what cosines are multiplied with, of the shape of its logarithm, 100 at most."""
    wide = torch.promote_types(logit_scale.dtype, torch.float32)
    return logit_scale.to(wide).clamp(max=math.log(LARGEST_SCALE)).exp()


def unit_length(x: Tensor) -> Tensor:
    """Bring vectors (..., d) to length 1, but for zeros, which stay; in float32 at least."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    return x / lengths(x)


def lengths(x: Tensor) -> Tensor:
    """Return the lengths of vectors (..., d), as (..., 1), and 1 for zeros.

    Keys have no bias, so those of padding are zeros. Divided by 1, their gradient is finite in
    every dtype; by a small epsilon it would leave the range of float16. Replaced before the root,
    which has no derivative at zero: that of the derivative would be NaN.
    """
    squares = x.square().sum(-1, keepdim=True)
    return squares.where(squares > _SHORTEST**2, 1.0).sqrt()
