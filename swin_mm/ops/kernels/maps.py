"""Kernels for whole maps: on their way to the next stage, and out of the network.

Tensors are contiguous, of float32 or bfloat16. Nothing here checks that: the layers do.
"""

from __future__ import annotations

import torch
from torch import Tensor

from swin_mm.ops.kernels.library import library
from swin_mm.ops.kernels.rows import NormTensors, as_structure, halves, pointer


def merge_normed(x: Tensor, result: Tensor, *, norm: NormTensors | None) -> None:
    """Write the norms of every 2 x 2 neighbours, zeros where there are none outside the map.

    Args:
        x: tokens, (B, H, W, C).
        result: (B, ceil(H / 2), ceil(W / 2), 4 C), the neighbours (0, 0), (0, 1), (1, 0), (1, 1)
            one after the other.
        norm: over 4 C; ``None`` for no norm.
    """
    library().swin_mm_merge_normed(
        halves(x, result), pointer(x), as_structure(norm), pointer(result), *x.shape,
        torch.get_num_threads(),
    )  # fmt: skip


def norm_to_map(x: Tensor, result: Tensor, *, norm: NormTensors) -> None:
    """Write the norms of tokens (B, H, W, C) as a map, (B, C, H, W), of the same dtype."""
    batch, height, width, channels = x.shape
    library().swin_mm_norm_to_map(
        halves(x), pointer(x), as_structure(norm), pointer(result), batch, height * width, channels,
        torch.get_num_threads(),
    )  # fmt: skip
