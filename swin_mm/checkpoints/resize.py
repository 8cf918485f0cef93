"""Bring tensors of other windows, pictures, patches and channels to a model's shapes."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.ops import relative_position_index, resize_position_embedding

# Tokens of a window beyond which no index is made: its N x N numbers would fill the memory.
_MOST_TOKENS = 4096

# Of one step to the one before it, between the offsets of an enlarged table (SimMIM's bound).
_MOST_RATIO = 1.5


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


def resize_bias_table(
    table: Tensor, window: tuple[int, int], target: tuple[int, int], *, method: str = "bicubic"
) -> Tensor:
    """Bring a bias table to another window, as one picture of offsets for each head.

    ``'bicubic'`` stretches the picture evenly, as Microsoft's code does: an offset of one token in
    the old window becomes one of nearly two in a window twice as large. ``'geometric'`` leaves it
    one token and stretches the far offsets more, each step by the same ratio (1.5 at most), until
    the old window spans the new; between them runs a cubic spline, beyond them the last value
    holds. That is how BEiT, SimMIM and timm enlarge. A smaller window takes the offsets that it
    has, as they are.

    Args:
        table: ((2 Mh - 1) * (2 Mw - 1), nH).
        window: the window Mh, Mw it was learned for, tokens.
        target: the window it is wanted for, tokens.
        method: ``'bicubic'`` or ``'geometric'``.

    Returns:
        A row for each offset in the target window, (L, nH), float32 or wider.

    Raises:
        CheckpointError: if there is no such method.
    """
    old, new = (tuple(2 * side - 1 for side in sides) for sides in (window, target))
    planes = _at_least_float32(table).T.unflatten(1, old)  # (nH, 2 Mh - 1, 2 Mw - 1)
    if method == "bicubic":
        planes = F.interpolate(planes[None], size=new, mode="bicubic", align_corners=False)[0]
    elif method == "geometric":
        down, across = (
            _spline(_geometric_offsets(side, wanted), torch.arange(1 - wanted, wanted))
            for side, wanted in zip(window, target, strict=True)
        )
        planes = _both_ways(down, planes, across)
    else:
        raise CheckpointError(f"method must be bicubic or geometric, got {method!r}")
    return planes.flatten(1).T.contiguous()


def _geometric_offsets(side: int, target: int) -> Tensor:
    """Place the 2 M - 1 offsets along one side of a window among those of another, tokens.

    The steps from zero outwards are 1, q, q^2 and so on, with the q at which the last arrives at
    the target's last; or all 1 where that is no further out.
    """
    numbers = torch.arange(side - 1, dtype=torch.float64)
    low, high = 1.0, _MOST_RATIO
    for _ in range(60):
        ratio = (low + high) / 2
        low, high = (ratio, high) if (ratio**numbers).sum() < target - 1 else (low, ratio)
    outwards = (high**numbers).cumsum(0)
    return torch.cat([-outwards.flip(0), outwards.new_zeros(1), outwards])


def _spline(places: Tensor, wanted: Tensor) -> Tensor:
    """Make the matrix that evaluates the cubic spline through values at some places at others.

    The spline's third derivative passes through the places next to the ends ("not a knot").
    Beyond the ends the end values hold.

    Args:
        places: increasing, an odd number of them, (S,).
        wanted: (D,).

    Returns:
        (D, S), float64.
    """
    count = len(places)
    values = torch.eye(count, dtype=torch.float64)
    if count == 1:
        return values.expand(len(wanted), 1)
    steps = places.diff()
    slopes = values.diff(dim=0) / steps[:, None]
    # Second derivatives at the places: one equation for each, from the first derivatives meeting.
    equations, right = torch.zeros_like(values), torch.zeros_like(values)
    inner = torch.arange(1, count - 1)
    equations[inner, inner - 1] = steps[:-1] / 6
    equations[inner, inner] = (steps[:-1] + steps[1:]) / 3
    equations[inner, inner + 1] = steps[1:] / 6
    right[1:-1] = slopes.diff(dim=0)
    for row, (a, b, c) in ((0, (0, 1, 2)), (-1, (-1, -2, -3))):
        near, far = (places[a] - places[b]).abs(), (places[b] - places[c]).abs()
        equations[row, [a, b, c]] = torch.stack([far, -near - far, near])
    if count == 3:  # no more than a parabola
        equations[0], equations[-1] = torch.tensor([1.0, -1, 0]), torch.tensor([0, 1.0, -1])
    bends = torch.linalg.solve(equations, right)
    at = wanted.to(places).clamp(places[0], places[-1])
    piece = (torch.searchsorted(places, at) - 1).clamp(0, count - 2)
    step, before = steps[piece, None], (at - places[piece])[:, None]
    after = step - before
    straight = (values[piece] * after + values[piece + 1] * before) / step
    left = bends[piece] * (after**3 / step - after * step)
    return straight + (left + bends[piece + 1] * (before**3 / step - before * step)) / 6


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
    if channels < 1:
        raise CheckpointError(f"pictures must have at least one channel, got {channels}")
    weight = _at_least_float32(weight)
    if channels == 1:
        return weight.sum(1, keepdim=True)
    repeats = math.ceil(channels / 3)
    return weight.repeat(1, repeats, 1, 1)[:, :channels] * (3 / channels)


def resize_patches(weight: Tensor, patch: tuple[int, int]) -> Tensor:
    """Let a patch embedding read patches of another size.

    Resizing the kernel as a picture would change what it answers. So the larger kernel of two
    answers to a patch, enlarged bilinearly, what the smaller answers to the patch as it is. That
    leaves one small kernel for a large one, and many large for a small one: the least of them is
    taken (FlexiViT, Beyer et al. 2022, sec. 3.4). Enlarging and coming back changes nothing.

    Args:
        weight: (C, in_channels, h, w).
        patch: the size wanted, px.

    Returns:
        (C, in_channels, *patch), float32 or wider.
    """
    down, across = (
        torch.linalg.pinv(_enlarging(old, new).T) if old < new else _enlarging(new, old).T
        for old, new in zip(weight.shape[2:], patch, strict=True)
    )
    return _both_ways(down, _at_least_float32(weight), across)


def _enlarging(old: int, new: int) -> Tensor:
    """Make the matrix (new, old) that enlarges a line of pixels, linearly between their centres."""
    pixels = torch.arange(old, dtype=torch.float64) + 0.5
    centres = (torch.arange(new, dtype=torch.float64) + 0.5) * (old / new)
    nearness = 1 - (centres.clamp(0.5, old - 0.5)[:, None] - pixels).abs()
    return nearness.clamp(min=0)


def _both_ways(down: Tensor, planes: Tensor, across: Tensor) -> Tensor:
    """Apply a matrix to the columns of planes (..., h, w), and one to the rows, in float64."""
    down, across = down.to(planes.device), across.to(planes.device)
    return (down @ planes.double() @ across.T).to(planes.dtype)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


def _said(windows: list[tuple[int, int]]) -> str:
    return " and ".join(f"{height}x{width}" for height, width in windows)
