"""Bring tensors of other windows, pictures and channels to a model's shapes, in float32."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.ops import relative_position_index, resize_position_embedding

# Tokens of a window beyond which no index is made: its N x N numbers would fill the memory.
_MOST_TOKENS = 4096


def window_of(table: Tensor, index: Tensor | None) -> tuple[int, int]:
    """Tell the window that a bias table is for.

    The table alone tells it for square windows only: 13 x 27 offsets are those of a window of
    7 x 14 as well as 14 x 7. The index buffer beside it tells them apart.

    Args:
        table: ((2 Mh - 1) * (2 Mw - 1), nH).
        index: the buffer ``relative_position_index`` of the same block, (N, N), if there is one.

    Returns:
        Mh, Mw, tokens.

    Raises:
        CheckpointError: if no window has such a table, or several might.
    """
    length = table.shape[0]
    heights = range(1, _MOST_TOKENS + 1 if length % 2 else 1)
    windows = [
        (height, (length // (2 * height - 1) + 1) // 2)
        for height in heights
        if length % (2 * height - 1) == 0
    ]
    windows = [window for window in windows if 0 < math.prod(window) <= _MOST_TOKENS]
    if index is not None:
        windows = [
            window
            for window in windows
            if index.shape == (math.prod(window),) * 2
            and torch.equal(index.cpu(), relative_position_index(window))
        ]
    square = [window for window in windows if window[0] == window[1]]
    if square:
        return square[0]
    if len(windows) == 1:
        return windows[0]
    raise CheckpointError(
        "the bias table of a window Mh x Mw has (2 Mh - 1) (2 Mw - 1) rows, this one "
        f"{length}: "
        + ("it fits no window" if not windows else f"it fits {_said(windows)}")
        + ". Give a file of square windows, or one that keeps relative_position_index"
    )


def resize_bias_table(table: Tensor, window: tuple[int, int], target: tuple[int, int]) -> Tensor:
    """Bring a bias table to another window, bicubic over the offsets (as Microsoft's code does).

    Args:
        table: ((2 Mh - 1) * (2 Mw - 1), nH).
        window: the window Mh, Mw it was learned for, tokens.
        target: the window it is wanted for, tokens.

    Returns:
        A row for each offset in the target window, (L, nH), float32 or wider.
    """
    old, new = (tuple(2 * side - 1 for side in sides) for sides in (window, target))
    planes = _at_least_float32(table).T.unflatten(1, old)[None]  # (1, nH, 2 Mh - 1, 2 Mw - 1)
    planes = F.interpolate(planes, size=new, mode="bicubic", align_corners=False)
    return planes[0].flatten(1).T.contiguous()


def flatten_position_embedding(embedding: Tensor) -> tuple[Tensor, tuple[int, int] | None]:
    """Bring an absolute position embedding to one vector a token, and tell its grid.

    Args:
        embedding: (1, L, C), or (1, C, H, W) as the authors' detectors keep it.

    Returns:
        (1, L, C); and rows and columns, or None where L is no square.
    """
    if embedding.dim() == 4:
        return embedding.flatten(2).transpose(1, 2), (embedding.shape[2], embedding.shape[3])
    side = math.isqrt(embedding.shape[1])
    return embedding, (side, side) if side**2 == embedding.shape[1] else None


def resize_embedding(embedding: Tensor, grid: tuple[int, int], target: tuple[int, int]) -> Tensor:
    """Bring an absolute position embedding (1, L, C) to another grid, bicubic, float32 or wider."""
    return resize_position_embedding(_at_least_float32(embedding), grid, target).flatten(1, 2)


def adapt_in_channels(weight: Tensor, channels: int) -> Tensor:
    """Let a convolution over colour pictures read pictures of other channels (timm's rule).

    One channel sees the sum over the colours: a grey picture is one whose colours are equal.
    Others repeat the colours, scaled so that the sum over the input stays as it was.

    Args:
        weight: (C, 3, h, w).
        channels: of the picture.

    Returns:
        (C, channels, h, w), float32 or wider.
    """
    weight = _at_least_float32(weight)
    if channels == 1:
        return weight.sum(1, keepdim=True)
    repeats = math.ceil(channels / 3)
    return weight.repeat(1, repeats, 1, 1)[:, :channels] * (3 / channels)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _said(windows: list[tuple[int, int]]) -> str:
    return " and ".join(f"{height}x{width}" for height, width in windows)
