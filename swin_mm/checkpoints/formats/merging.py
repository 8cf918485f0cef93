"""The order of the four merged tokens' channels, the one step where a mistake stays silent.

A merging layer reads 2 x 2 tokens of C channels as one vector of 4 C. Microsoft's code, and what
follows it, concatenates them token after token, the tokens column after column: top left, bottom
left, top right, bottom right. OpenMMLab's reads channel after channel, the tokens of each row
after row, as ``nn.Unfold`` does. Every shape is the same either way.
"""

from __future__ import annotations

from torch import Tensor

from swin_mm.checkpoints.formats.layout import TensorRule

# Column after column to row after row; swapping the middle two undoes itself.
_OTHER_WAY = [0, 2, 1, 3]


def from_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from concatenated to unfolded order, (..., 4 C)."""
    return tensor.unflatten(-1, (4, -1))[..., _OTHER_WAY, :].transpose(-1, -2).flatten(-2)


def to_concatenated(tensor: Tensor) -> Tensor:
    """Bring merged channels from unfolded to concatenated order, (..., 4 C)."""
    return tensor.unflatten(-1, (-1, 4)).transpose(-1, -2)[..., _OTHER_WAY, :].flatten(-2)


CONCATENATED = TensorRule("order of merged tokens", from_concatenated, to_concatenated)
