"""The order of the four merged tokens' channels, the one step where a mistake stays silent.

A merging layer reads 2 x 2 tokens of C channels as one vector of 4 C. Microsoft's code, and what
follows it, concatenates the tokens, column after column: its order is (column, row, channel).
OpenMMLab's unfolds, channel after channel, row after row: (channel, row, column). Every shape is
the same either way.
"""

from __future__ import annotations

from torch import Tensor

from swin_mm.checkpoints.formats.layout import TensorRule


def from_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from concatenated to unfolded order, (..., 4 C)."""
    return tensor.unflatten(-1, (2, 2, -1)).transpose(-1, -3).flatten(-3)


def to_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from unfolded to concatenated order, (..., 4 C)."""
    return tensor.unflatten(-1, (-1, 2, 2)).transpose(-1, -3).flatten(-3)


CONCATENATED = TensorRule("order of merged tokens", from_concatenated, to_concatenated)
