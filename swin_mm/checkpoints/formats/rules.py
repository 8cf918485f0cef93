"""What happens to tensors between layouts: few things, each exactly undone.

The order of the four merged tokens' channels is the one step where a mistake stays silent. A
merging layer reads 2 x 2 tokens of C channels as one vector of 4 C. Microsoft's code, and what
follows it, concatenates the tokens, column after column: its order is (column, row, channel).
OpenMMLab's unfolds, channel after channel, row after row: (channel, row, column). Every shape is
the same either way.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from swin_mm.checkpoints.formats.layout import TensorRule


def from_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from concatenated to unfolded order, (..., 4 C)."""
    return tensor.unflatten(-1, (2, 2, -1)).transpose(-1, -3).flatten(-3)


def to_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from unfolded to concatenated order, (..., 4 C)."""
    return tensor.unflatten(-1, (-1, 2, 2)).transpose(-1, -3).flatten(-3)


def join(*parts: Tensor) -> Tensor:
    """Stack queries, keys and values, (C, ...) each, into (3 C, ...)."""
    if len({(part.shape, part.dtype) for part in parts}) > 1:
        raise ValueError("parts of one tensor differ in shape or kind")
    return torch.cat(parts)


def split(whole: Tensor) -> tuple[Tensor, ...]:
    """Take (3 C, ...) apart into queries, keys and values, (C, ...) each."""
    return whole.unflatten(0, (3, -1)).unbind(0)


def without_key_bias(bias: Tensor) -> tuple[Tensor, Tensor]:
    """Take the biases of queries and values, (C,) each, out of (3 C,): SwinV2 has none of keys."""
    query, _, value = split(bias)
    return query, value


def with_key_bias(query: Tensor, value: Tensor) -> Tensor:
    """Put zeros where torchvision keeps a bias of keys that it sets to zero in every pass."""
    return torch.cat([query, torch.zeros_like(query), value])


def square_index(index: Tensor) -> Tensor:
    """Bring an index kept as a list, (N * N,), to queries by keys, (N, N)."""
    tokens = math.isqrt(index.numel())
    return index.view(tokens, tokens)


def without_class_token(embedding: Tensor) -> Tensor:
    """Drop the vector before a square grid's, (1, 1 + L, C), where there is one.

    Swin has no class token, but transformers kept a place for one until its fifth version.
    """
    before = embedding.shape[1] - 1
    return embedding[:, 1:] if before and math.isqrt(before) ** 2 == before else embedding


def as_image(embedding: Tensor) -> Tensor:
    """Bring a position embedding of a square grid, (1, L, C), to (1, C, H, W)."""
    if embedding.dim() == 4:
        return embedding
    side = math.isqrt(embedding.shape[1])
    return embedding.mT.unflatten(2, (side, side)).contiguous()


def as_tokens(embedding: Tensor) -> Tensor:
    """Bring a position embedding kept as an image, (1, C, H, W), to (1, L, C)."""
    return embedding if embedding.dim() == 3 else embedding.flatten(2).mT.contiguous()


def _as_it_is(tensor: Tensor) -> Tensor:
    """An image of positions keeps its grid until it has been resized to the model's."""
    return tensor


CONCATENATED = TensorRule(
    "order of merged tokens",
    "4 C merged channels in the last dimension",
    from_concatenated,
    to_concatenated,
)
IN_PARTS = TensorRule(
    "queries, keys and values joined",
    "queries, keys and values of one shape and kind of number",
    join,
    split,
)
KEY_BIAS = TensorRule(
    "biases of queries and values taken apart",
    "3 C biases",
    without_key_bias,
    with_key_bias,
)
FLAT_INDEX = TensorRule("index squared", "N * N numbers", square_index, torch.flatten)
CLASS_TOKEN = TensorRule(
    "place of a class token dropped", "(1, L, C) or (1, 1 + L, C)", without_class_token, _as_it_is
)
IMAGE = TensorRule("position embedding as an image", "(1, C, H, W)", _as_it_is, as_image)
TOKENS = TensorRule("position embedding as tokens", "(1, L, C)", _as_it_is, as_tokens)
