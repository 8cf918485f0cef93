"""What compiled kernels keep of a block for its gradient."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from swin_mm.ops.block.weights import BlockWeights


class KernelKept(NamedTuple):
    """What the gradient of a block is computed from, besides its input.

    Of n windows of N tokens, some of which are padding and the others real: of all windows of some
    maps, chunk after chunk, or those of one chunk.

    Attributes:
        given1: what queries, keys and values are made of, (n * N, C), zero at padding.
        qkv: those, without their bias, (n * N, 3 C).
        attended: what the attention gives for real tokens, (real, C).
        moments1: mean and 1 / deviation of what norm1 was given, row by row.
        given2: what the FFN is given, (real, C).
        hidden: its hidden channels before bias and GELU, (real, hidden).
        moments2: of what norm2 was given.
        middle: tokens between the branches where norms come first, (real, C).
        branch1: what the first branch gives where they come last, without its bias.
        branch2: and the second.
    """

    given1: Tensor | None = None
    qkv: Tensor | None = None
    attended: Tensor | None = None
    moments1: Tensor | None = None
    given2: Tensor | None = None
    hidden: Tensor | None = None
    moments2: Tensor | None = None
    middle: Tensor | None = None
    branch1: Tensor | None = None
    branch2: Tensor | None = None

    @classmethod
    def empty(
        cls, weights: BlockWeights, like: Tensor, *, every: int, real: int, dtype: torch.dtype
    ) -> KernelKept:
        """Make room.

        Args:
            weights: the block's.
            like: on the device that is meant, of C channels.
            every: tokens of all windows, n * N.
            real: and without padding.
            dtype: what linear layers compute in.
        """
        channels, hidden = like.shape[-1], weights.fc1.weight.shape[0]

        def rows(number: int, width: int, kind: torch.dtype = dtype) -> Tensor:
            return like.new_empty((number, width), dtype=kind)

        wide = torch.float32
        common = {
            "given1": rows(every, channels),
            "qkv": rows(every, 3 * channels),
            "attended": rows(real, channels),
            "moments1": rows(real if weights.post_norm else every, 2, wide),
            "given2": rows(real, channels),
            "hidden": rows(real, hidden),
            "moments2": rows(real, 2, wide),
        }
        if weights.post_norm:
            return cls(**common, branch1=rows(real, channels), branch2=rows(real, channels))
        return cls(**common, middle=rows(real, channels, wide))

    def part(self, every: slice, real: slice) -> KernelKept:
        """See a chunk's: tokens of its windows, and which of the real ones they are."""
        of_all = {"given1", "qkv"} if self.middle is None else {"given1", "qkv", "moments1"}
        return KernelKept(
            *(
                None if one is None else one[every if name in of_all else real]
                for name, one in zip(self._fields, self, strict=True)
            )
        )


NOTHING_KEPT = KernelKept()
"""For who makes room step by step, and lets it go."""
