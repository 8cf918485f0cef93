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
    dtype = torch.promote_types(q.dtype, torch.float32)
    scale = logit_scale.to(dtype).clamp(max=math.log(LARGEST_SCALE)).exp()
    return _unit(q.to(dtype)) * scale, _unit(k.to(dtype))


def _unit(x: Tensor) -> Tensor:
    """Bring vectors to length 1, but for zeros, which stay.

    Keys have no bias, so those of padding are zeros. Divided by 1, their gradient is finite in
    every dtype; by a small epsilon it would leave the range of float16.
    """
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.where(length > _SHORTEST, 1.0)
