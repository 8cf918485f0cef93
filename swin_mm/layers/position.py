"""The learned bias by relative position, as a module for anyone's attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from swin_mm.ops.position import relative_position_bias, relative_position_index


class RelativePositionBias(nn.Module):
    """Add a learned bias to attention scores by how far query and key are apart.

    Every pair of tokens with the same offset, in any window, shares one number a head (Liu et al.
    2021, eq. 4). It plugs into any attention over windows of a fixed size::

        bias = RelativePositionBias((7, 7), num_heads=8)
        scores = q @ k.transpose(-2, -1) * scale  # (windows, 8, 49, 49)
        weights = bias(scores).softmax(dim=-1)

    Args:
        window_size: height Mh and width Mw of a window, tokens.
        num_heads: heads of the attention, nH.

    Raises:
        ValueError: if the window is not height and width.

    Attributes:
        relative_position_bias_table: ((2 Mh - 1) * (2 Mw - 1), nH), trunc-normal of std 0.02.
        relative_position_index: row of the table for each pair, (N, N) with N = Mh * Mw.
    """

    def __init__(self, window_size: tuple[int, int], *, num_heads: int) -> None:
        super().__init__()
        if not (isinstance(window_size, tuple) and len(window_size) == 2 and min(window_size) > 0):
            raise ValueError(
                f"window_size must be (height, width), tokens, got {window_size!r}; "
                "a square window of 7 is (7, 7)"
            )
        self.window_size = window_size
        mh, mw = window_size
        table = torch.empty((2 * mh - 1) * (2 * mw - 1), num_heads)
        self.relative_position_bias_table = nn.Parameter(table)
        self.register_buffer("relative_position_index", relative_position_index(window_size))
        self.register_load_state_dict_pre_hook(_keep_own_index)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def bias(self) -> Tensor:
        """Return the bias of every pair, (nH, N, N)."""
        return relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index
        )

    def forward(self, scores: Tensor) -> Tensor:
        """Add the bias to scores.

        Args:
            scores: (..., nH, N, N), queries by keys, tokens in reading order.

        Returns:
            The sum, of the scores' shape and dtype.

        Raises:
            ValueError: if the last three dimensions are not (nH, N, N).
        """
        bias = self.bias()
        if scores.shape[-3:] != bias.shape:
            mh, mw = self.window_size
            raise ValueError(
                f"scores must end in (heads, tokens, tokens) = {tuple(bias.shape)} for a window of "
                f"{mh} x {mw}, got shape {tuple(scores.shape)}; build RelativePositionBias with "
                "the window and the heads of these scores"
            )
        return scores + bias.to(scores.dtype)


def _keep_own_index(
    module: RelativePositionBias, state_dict: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """Read any checkpoint's table, with or without an index beside it: the window fixes the index.

    MMDetection saves the index, Microsoft's files carry it for another window, newer timm has none.
    """
    state_dict[prefix + "relative_position_index"] = module.relative_position_index
