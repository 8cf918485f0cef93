"""The kernel of attention within windows, and of its gradient."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.kernels import structures
from swin_mm.ops.kernels.library import library
from swin_mm.ops.kernels.rows import halves, pointer


class AttentionKernel:
    """Attention of one block, whose windows come some at a time.

    Args:
        given: bias of queries, keys and values, (3 C,).
        bias: added to the scores, (nH, N, N).
        cosine_scale: factor of each head's cosines, (nH, 1, 1), or ``None`` for scaled products.
        scale: factor of those.
        channels: of a head, d.
    """

    def __init__(
        self,
        given: Tensor,
        bias: Tensor,
        *,
        cosine_scale: Tensor | None,
        scale: float,
        channels: int,
    ) -> None:
        self.heads, self.tokens, _ = bias.shape
        self.channels, self.scale, self.given = channels, scale, given
        self._bias = padded_table(bias)
        self._cosine = None if cosine_scale is None else cosine_scale.float().contiguous()
        self._sums: Tensor | None = None

    def forward(
        self, qkv: Tensor, result: Tensor, *, masks: Sequence[tuple[int, Tensor | None]],
        places: Tensor | None,
    ) -> None:  # fmt: skip
        """Let windows attend.

        Args:
            qkv: queries, keys and values without their bias, (n * N, 3 C).
            result: where what they give goes, (real, C).
            masks: how many windows, in their order, have which mask, as
                :func:`padded_table` gives it of scores that are zero or -inf.
            places: which row of the result each token is, -1 for none; ``None`` for all in order.
        """
        job, _held = self._job(masks, places)
        call = library().swin_mm_attend
        call(halves(qkv), ctypes.byref(job), pointer(qkv), pointer(result))

    def backward(
        self, qkv: Tensor, gradient: Tensor, result: Tensor, *,
        masks: Sequence[tuple[int, Tensor | None]], places: Tensor | None,
    ) -> None:  # fmt: skip
        """Bring the gradient of what attention gives, (real, C), to that of qkv, (n * N, 3 C).

        What the weights get is summed up until :meth:`sums`.
        """
        job, _held = self._job(masks, places)
        if self._sums is None:
            each = library().swin_mm_head_sums(ctypes.byref(job))
            self._sums = self._bias.new_zeros(self.heads, each)
        call = library().swin_mm_attend_backward
        call(
            halves(qkv), ctypes.byref(job), pointer(qkv), pointer(gradient), pointer(result),
            pointer(self._sums),
        )  # fmt: skip

    def sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """Give away the gradients of the bias, of that of qkv, and of the cosines' scale."""
        heads, tokens, row = self._bias.shape
        if self._sums is None:
            zeros = self._bias.new_zeros
            return zeros(heads, tokens, tokens), zeros(len(self.given)), zeros(heads, 1, 1)
        sums, self._sums = self._sums, None
        deep = -(-self.channels // lanes()) * lanes()
        bias, given, rest = sums.split(
            [tokens * row, 3 * deep, sums.shape[1] - tokens * row - 3 * deep], dim=1
        )
        given = given.view(heads, 3, deep)[..., : self.channels].transpose(0, 1)
        found = bias.view(heads, tokens, row)[..., :tokens], given.flatten(), rest[:, :1, None]
        return tuple(one.clone(memory_format=torch.contiguous_format) for one in found)

    def _job(
        self, masks: Sequence[tuple[int, Tensor | None]], places: Tensor | None
    ) -> tuple[structures.Attention, object]:
        """Describe a call, and return what must stay until it is over."""
        number, ends = 0, []
        for windows, _ in masks:
            number += windows
            ends.append(number)
        held = (
            (ctypes.c_int64 * len(ends))(*ends),
            (ctypes.c_void_p * len(ends))(*(pointer(mask) for _, mask in masks)),
        )
        job = structures.Attention(
            number, self.tokens, self.heads, self.channels, pointer(self.given),
            pointer(self._bias), len(ends), *map(ctypes.addressof, held),
            pointer(self._cosine), pointer(places), self.scale, torch.get_num_threads(),
        )  # fmt: skip
        return job, held


def padded_table(scores: Tensor) -> Tensor:
    """Bring the last axis to a multiple of the kernels' lanes, -inf behind, in float32."""
    missing = -scores.shape[-1] % lanes()
    return F.pad(scores.float(), (0, missing), value=float("-inf")).contiguous()


def lanes() -> int:
    """Floats that a vector of the kernels holds."""
    return library().swin_mm_lanes()
