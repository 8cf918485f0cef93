"""Some windows of a map, and what holds for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class MapPlaces:
    """Where the tokens of some windows are in the map.

    Attributes:
        source: of every token, (n * N,), -1 at padding.
        target: of the real ones, (real,).
        places: which of the real ones each token is, -1 at padding; ``None`` for no padding.
    """

    source: Tensor
    target: Tensor
    places: Tensor | None = None


@dataclass(frozen=True)
class WindowBatch:
    """What a block must know of n windows of N tokens, besides the tokens.

    Attributes:
        tokens: N.
        full: whether these are as many as most batches of this network have.
        masks: how many windows, in their order, have which mask; see
            :func:`swin_mm.ops.attention.attend_in_parts`.
        padding: which of the n * N tokens are padding, ``None`` for none.
        real: the others, ``None`` for all.
        kept: what stochastic depth multiplies each real token's two branches with, (real, 1) each;
            ``None`` for nothing.
        at: where the tokens are, for whoever takes them from the map.
    """

    tokens: int
    masks: Sequence[tuple[int, Tensor | None]]
    full: bool = False
    padding: Tensor | None = None
    real: Tensor | None = None
    kept: tuple[Tensor, Tensor] | None = None
    at: MapPlaces | None = None

    def hide_padding(self, x: Tensor) -> Tensor:
        """Put zeros where there is padding, (n * N, channels); attention sees zeros there."""
        return x if self.padding is None else x.index_fill(0, self.padding, 0)

    def take_real(self, x: Tensor) -> Tensor:
        """Leave padding out: (n * N, channels) to (real, channels)."""
        return x if self.real is None else x.index_select(0, self.real)

    def put_real(self, x: Tensor) -> Tensor:
        """Put zeros between real tokens where there is padding: the way back."""
        if self.real is None:
            return x
        number = sum(windows for windows, _ in self.masks) * self.tokens
        return x.new_zeros(number, x.shape[1]).index_copy_(0, self.real, x)

    def factor(self, index: int) -> Tensor | None:
        """What stochastic depth multiplies each real token's branch with, (real,) of float32."""
        return None if self.kept is None else self.kept[index].flatten().to(torch.float32)

    def keep(self, branch: Tensor, index: int) -> Tensor:
        """Multiply a branch, the first or second, (real, channels), as stochastic depth says."""
        return branch if self.kept is None else branch * self.kept[index].to(branch.dtype)


def split_heads(qkv: Tensor, num_heads: int, tokens: int) -> Tensor:
    """See queries, keys and values, (n * N, 3 C), as (3, n, nH, N, d)."""
    size = qkv.shape[1] // (3 * num_heads)
    return qkv.view(-1, tokens, 3, num_heads, size).permute(2, 0, 3, 1, 4)
