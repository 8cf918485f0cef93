"""Position: the bias of each pair of tokens of a window, and embeddings brought to a map's size."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def relative_position_index(
    window: tuple[int, int], *, device: torch.device | None = None
) -> Tensor:
    """Number the offsets between the tokens of a window.

    A query at row i, column j and a key at row k, column l are apart by (i - k, j - l), which is
    one of (2 Mh - 1) x (2 Mw - 1) offsets; the table has one row for each, ordered row-major from
    (-(Mh - 1), -(Mw - 1)) on (Liu et al. 2021, eq. 4; same order as Microsoft's and MMDetection's).

    Args:
        window: height Mh and width Mw of a window, tokens.
        device: of the result.

    Returns:
        Row of the table for every query and key, int64, (N, N).
    """
    mh, mw = window
    row = torch.arange(mh, device=device).repeat_interleave(mw)  # (N,)
    column = torch.arange(mw, device=device).repeat(mh)  # (N,)
    down = row[:, None] - row + (mh - 1)
    across = column[:, None] - column + (mw - 1)
    return down * (2 * mw - 1) + across


def relative_position_bias(table: Tensor, index: Tensor) -> Tensor:
    """Look the biases up.

    Args:
        table: ((2 Mh - 1) * (2 Mw - 1), nH), learned or computed.
        index: (N, N), from :func:`relative_position_index`.

    Returns:
        What to add to the attention scores, (nH, N, N).
    """
    return table[index.flatten()].view(*index.shape, -1).permute(2, 0, 1)


def log_spaced_offsets(window: tuple[int, int], pretrained_window: tuple[int, int]) -> Tensor:
    """Place the offsets between the tokens of a window on a logarithmic scale.

    An offset by t, in units of the largest one met in pretraining, lies at
    sign(t) log2(1 + 8 |t|) / log2(8); so a window of twice the side asks for positions little
    beyond those that were learned (Liu et al. 2022, eq. 4, and the scale of the authors' code).
    A window of one token has one offset, 0; as a unit it counts as 1.

    Args:
        window: height Mh and width Mw of a window, tokens.
        pretrained_window: of the windows that the weights were learned on, tokens.

    Returns:
        Down and across, in the order of :func:`relative_position_index`'s table, float64 on the
        CPU, ((2 Mh - 1) * (2 Mw - 1), 2).
    """
    axes = []
    for side, learned in zip(window, pretrained_window, strict=True):
        offset = torch.arange(1 - side, side, dtype=torch.float64, device="cpu")
        scaled = 8 * offset / max(learned - 1, 1)
        axes.append(scaled.sign() * scaled.abs().log1p() / math.log(8))
    return torch.cartesian_prod(*axes)


def resize_position_embedding(
    embedding: Tensor, grid: tuple[int, int], size: tuple[int, int]
) -> Tensor:
    """Bring a learned absolute position embedding to the size of a map, bicubic.

    Args:
        embedding: one vector for each token of the grid, row after row, (1, L, C).
        grid: rows and columns it was learned on, tokens, L in all.
        size: rows H and columns W of the map at hand, tokens.

    Returns:
        (1, H, W, C) in the embedding's dtype.
    """
    embedding = embedding.unflatten(1, grid)
    exported = any(isinstance(side, torch.SymInt) for side in size)
    if not exported and grid == size:  # resized to its own size, it is the same
        return embedding
    planes = embedding.permute(0, 3, 1, 2)
    if exported:  # of other strides, a single token would be a case of its own
        planes = planes.contiguous()
    # The CPU has no bicubic kernel for half precision.
    dtype = torch.promote_types(planes.dtype, torch.float32)
    planes = F.interpolate(planes.to(dtype), size=size, mode="bicubic", align_corners=False)
    return planes.to(embedding.dtype).permute(0, 2, 3, 1)
