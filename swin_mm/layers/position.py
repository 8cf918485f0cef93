"""The bias by relative position, learned or computed, as modules for anyone's attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.layers.plain import are_linear
from swin_mm.ops.position import (
    log_spaced_offsets,
    relative_position_bias,
    relative_position_index,
)
from swin_mm.ops.precision import autocast_off


class PositionBias(nn.Module):
    """Add to attention scores a bias by how far query and key are apart.

    Every pair of tokens with the same offset, in any window, shares one number a head. What the
    numbers are is for the two kinds below to say, in :meth:`bias`.

    Args:
        window_size: height Mh and width Mw of a window, tokens.
        save_index: whether the index is written to checkpoints.

    Raises:
        ValueError: if the window is not height and width.

    Attributes:
        relative_position_index: row of the table for each pair, (N, N) with N = Mh * Mw.
    """

    def __init__(self, window_size: tuple[int, int], *, save_index: bool) -> None:
        super().__init__()
        if not (isinstance(window_size, tuple) and _are_whole(window_size, number=2)):
            raise ValueError(
                f"window_size must be (height, width), tokens, got {window_size!r}; "
                "a square window of 7 is (7, 7)"
            )
        self.window_size = window_size
        index = relative_position_index(window_size)
        self.register_buffer("relative_position_index", index, persistent=save_index)
        self.register_load_state_dict_post_hook(_follow_assigned)

    def bias(self) -> Tensor:
        """Return the bias of every pair, (nH, N, N)."""
        raise NotImplementedError

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
                f"{mh} x {mw}, got shape {tuple(scores.shape)}; build {type(self).__name__} with "
                "the window and the heads of these scores"
            )
        return scores + bias.to(scores.dtype)

    def _compute_buffers(self) -> None:
        """Compute what follows from the window alone, on the device of what is there."""
        device = self.relative_position_index.device
        self.relative_position_index = relative_position_index(self.window_size, device=device)

    def _buffers_suit(self, weight: Tensor) -> bool:
        """Say whether buffers are where a weight is, and as exact."""
        return self.relative_position_index.device == weight.device

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> PositionBias:
        """Move or convert, but keep the buffers exact.

        Half precision would round them for good, and ``to_empty`` leave them unset; a checkpoint
        brings neither back.
        """
        super()._apply(fn, recurse)
        with torch.inference_mode(False):  # buffers made there could not serve training later
            self._compute_buffers()
        return self


class RelativePositionBias(PositionBias):
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
        ValueError: if the window is not height and width, or there are no heads.

    Attributes:
        relative_position_bias_table: ((2 Mh - 1) * (2 Mw - 1), nH), trunc-normal of std 0.02.
        relative_position_index: row of the table for each pair, (N, N) with N = Mh * Mw.
    """

    def __init__(self, window_size: tuple[int, int], *, num_heads: int) -> None:
        super().__init__(window_size, save_index=True)
        _check_heads(num_heads)
        mh, mw = window_size
        table = torch.empty((2 * mh - 1) * (2 * mw - 1), num_heads)
        self.relative_position_bias_table = nn.Parameter(table)
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


class ContinuousPositionBias(PositionBias):
    """Add to attention scores a bias that a small network computes from query and key's offset.

    The network sees offsets on a logarithmic scale, so its weights serve windows of any size (Liu
    et al. 2022, eq. 3 and 4). The bias lies between 0 and 16, as in the authors' code. It plugs
    into attention as :class:`RelativePositionBias` does, and is computed anew at every call.

    Args:
        window_size: height Mh and width Mw of a window, tokens.
        num_heads: heads of the attention, nH.
        pretrained_window_size: height and width of the windows that the weights were learned on,
            tokens; 0 stands for that of ``window_size``.

    Raises:
        ValueError: if a window is not height and width, or there are no heads.

    Attributes:
        cpb_mlp: the network, 2 -> 512 -> nH.
        relative_coords_table: offsets on the logarithmic scale, ((2 Mh - 1) * (2 Mw - 1), 2); of
            the parameters' dtype, float32 at least.
        relative_position_index: row of the table for each pair, (N, N) with N = Mh * Mw.
    """

    def __init__(
        self,
        window_size: tuple[int, int],
        *,
        num_heads: int,
        pretrained_window_size: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(window_size, save_index=False)
        _check_heads(num_heads)
        if not _are_whole(pretrained_window_size, number=2, least=0):
            raise ValueError(
                "pretrained_window_size must be (height, width), tokens, 0 for those of "
                f"window_size, got {pretrained_window_size!r}"
            )
        self.pretrained_window_size = tuple(
            learned or side
            for learned, side in zip(pretrained_window_size, window_size, strict=True)
        )
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, num_heads, bias=False)
        )
        self.register_buffer("relative_coords_table", None, persistent=False)
        self._compute_buffers()

    def bias(self) -> Tensor:
        """Return the bias of every pair, (nH, N, N), in float32 at least."""
        coords = self.relative_coords_table
        with autocast_off(coords.device):
            table = 16 * self._table(coords).to(coords.dtype).sigmoid()
        return relative_position_bias(table, self.relative_position_index)

    def _table(self, coords: Tensor) -> Tensor:
        """Let the network answer, in the coordinates' dtype unless others stand in its layers."""
        first, _, last = self.cpb_mlp
        if not are_linear([first, last]):
            weight = next(self.cpb_mlp.parameters(), coords)
            return self.cpb_mlp(coords.to(weight.dtype))
        hidden = F.linear(coords, first.weight.to(coords.dtype), first.bias.to(coords.dtype))
        return F.linear(hidden.relu(), last.weight.to(coords.dtype))

    def _buffers_suit(self, weight: Tensor) -> bool:
        dtype = torch.promote_types(weight.dtype, torch.float32)
        return super()._buffers_suit(weight) and self.relative_coords_table.dtype == dtype

    def _compute_buffers(self) -> None:
        super()._compute_buffers()
        weight = next(
            self.cpb_mlp.parameters(), self.relative_coords_table
        )  # quantised, it has none
        dtype = torch.promote_types(weight.dtype, torch.float32)
        coords = log_spaced_offsets(self.window_size, self.pretrained_window_size)
        self.relative_coords_table = coords.to(weight.device, dtype)


def _are_whole(sides: Sequence[int], *, number: int, least: int = 1) -> bool:
    """Say whether these are so many whole numbers."""
    return len(sides) == number and all(
        isinstance(side, Integral) and not isinstance(side, bool) and side >= least
        for side in sides
    )


def _check_heads(num_heads: int) -> None:
    """Check that there are heads.

    Raises:
        ValueError: if it is no whole number from 1 on.
    """
    if not _are_whole((num_heads,), number=1):
        raise ValueError(
            f"num_heads must be a whole number >= 1, that of the attention, got {num_heads!r}"
        )


def _keep_own_index(
    module: RelativePositionBias, state_dict: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """Read any checkpoint's table, with or without an index beside it: the window fixes the index.

    MMDetection saves the index, Microsoft's files carry it for another window, newer timm has none.
    """
    state_dict[prefix + "relative_position_index"] = module.relative_position_index


def _follow_assigned(module: PositionBias, _: object) -> None:
    """Compute the buffers anew where weights were assigned of another device or dtype."""
    weight = next(module.parameters(), None)
    if weight is not None and not weight.is_meta and not module._buffers_suit(weight):
        with torch.inference_mode(False):
            module.relative_position_index = torch.empty(0, device=weight.device)
            module._compute_buffers()
