"""Who computes a block chunk by chunk: torch's operators, or compiled kernels where they can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from swin_mm.layers.chunk_job import ChunkJob
from swin_mm.ops.block import (
    FLAT,
    BlockWeights,
    GradientSums,
    Kept,
    KernelBlock,
    KernelKept,
    block_backward,
    block_forward,
    can_run_kernels,
)
from swin_mm.ops.kernels import why_not

Flat = list[Tensor | None]
"""What a gradient is computed from, besides the input."""


class ByOperators:
    """A block by torch's operators.

    Args:
        job: what is to be done.
        weights: what the block has learned, without gradients.
    """

    def __init__(self, job: ChunkJob, weights: BlockWeights) -> None:
        self._job, self._weights = job, weights.computing_in(job.dtype)

    def run(self, x: Tensor, *, keep: bool) -> tuple[Tensor, Flat]:
        """Compute the block's output, and keep for the gradient what it needs, if it is wanted."""
        job, flat = self._job, []
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        source, target = x.reshape(-1, x.shape[-1]), out.view(-1, x.shape[-1])
        for rows, chunk, windows in job.chunks(x):
            given = source[rows].index_select(0, chunk.tokens)
            done, kept = block_forward(
                given, self._weights, windows=windows, dtype=job.dtype, keep=keep
            )
            target[rows].index_copy_(0, chunk.targets, done)
            if keep:
                flat += kept.flat()
        return out, flat

    def differentiate(
        self, gradient: Tensor, x: Tensor, *, flat: Flat, needed: Sequence[bool]
    ) -> tuple[Tensor, GradientSums]:
        """Go from the gradient of the output to that of the input, and to sums of the weights'.

        Args:
            gradient: of the output.
            x: the input.
            flat: what :meth:`run` kept; nothing where it is to be computed again.
            needed: which of the weights' tensors need a gradient.
        """
        job, weights = self._job, self._weights
        sums = GradientSums(weights, needed)
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        above, source, target = (t.reshape(-1, x.shape[-1]) for t in (gradient, x, out))
        for number, (rows, chunk, windows) in enumerate(job.chunks(x)):
            given = source[rows].index_select(0, chunk.tokens)
            if job.recompute:
                _, kept = block_forward(
                    given.clone(), weights, windows=windows, dtype=job.dtype, keep=True, again=True
                )
            else:
                kept = Kept.from_flat(flat[number * FLAT : (number + 1) * FLAT])
            part = above[rows].index_select(0, chunk.targets)
            part = block_backward(
                part, given, kept=kept, weights=weights, windows=windows, sums=sums
            )
            target[rows].index_copy_(0, chunk.targets, part)
        return out, sums


class ByKernels:
    """The same by compiled kernels; arguments and results as there, but for what is kept.

    That is a :class:`KernelKept` of all windows: as many tensors however many chunks there are.
    """

    def __init__(self, job: ChunkJob, weights: BlockWeights) -> None:
        self._job, self._block = job, KernelBlock(weights, job.dtype)

    def run(self, x: Tensor, *, keep: bool) -> tuple[Tensor, Flat]:
        """Compute the block's output, and keep for the gradient what it needs, if it is wanted."""
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        source, target = _rows(x), _rows(out)
        room = self._block.room(x, **self._job.rows(x)) if keep else None
        for around, rows, part in self._chunks(x, room):
            self._block.forward(source[rows], target[rows], **around, room=part)
        return out, [] if room is None else list(room)

    def differentiate(
        self, gradient: Tensor, x: Tensor, *, flat: Flat, needed: Sequence[bool]
    ) -> tuple[Tensor, GradientSums]:
        """Go from the gradient of the output to that of the input, and to sums of the weights'."""
        sums = GradientSums(self._block.weights, needed)
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        above, source, target = map(_rows, (gradient, x, out))
        kept = None if self._job.recompute else KernelKept(*flat)
        for around, rows, part in self._chunks(x, kept):
            if part is None:
                at = around["windows"].at
                part = self._block.room(x, every=len(at.source), real=len(at.target))
                self._block.forward(source[rows], None, **around, room=part)
            self._block.backward(
                above[rows], source[rows], target[rows], kept=part, sums=sums, **around
            )
        self._block.add_attention(sums)
        return out, sums

    def _chunks(
        self, x: Tensor, kept: KernelKept | None
    ) -> Iterator[tuple[dict[str, Any], slice, KernelKept | None]]:
        """Go through all windows: what holds for them, rows of the map, and what is kept there."""
        every = real = 0
        for rows, chunk, windows in self._job.chunks(x):
            around = {"windows": windows, "masks": self._job.tables(chunk, x)}
            ends = every + len(windows.at.source), real + len(windows.at.target)
            part = None
            if kept is not None:
                part = kept.part(slice(every, ends[0]), slice(real, ends[1]))
            every, real = ends
            yield around, rows, part


def worker(job: ChunkJob, weights: BlockWeights, x: Tensor) -> ByOperators | ByKernels:
    """Choose who computes a block of (B, H, W, C)."""
    if why_not() is None and can_run_kernels(weights, x, job.dtype):
        return ByKernels(job, weights)
    return ByOperators(job, weights)


def _rows(x: Tensor) -> Tensor:
    """See (B, H, W, C) as rows that follow each other in memory, copied where they do not.

    A map may be some channels of a wider one, and a gradient one number that stands for all.
    """
    return x.reshape(-1, x.shape[-1]).contiguous()
