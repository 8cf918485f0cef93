"""A block on a few windows at a time: the same numbers, with less traffic between memory and core.

What a block does is local to a window. Run on the whole map, each of its steps reads and writes the
map; run on a chunk of windows, all of them find it in the cache. In training, what the gradient
needs is kept chunk by chunk, or, to save memory, computed again when it is due.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from swin_mm.layers.attention import ShiftedWindowAttention, WindowAttention
from swin_mm.layers.cosine_attention import CosineWindowAttention
from swin_mm.layers.ffn import FFN
from swin_mm.layers.plain import are_plain
from swin_mm.layers.stochastic_depth import DropPath
from swin_mm.ops.attention import preferred_attention
from swin_mm.ops.attention.precision import autocast_off
from swin_mm.ops.block import (
    FLAT,
    BlockWeights,
    GradientSums,
    Kept,
    WindowBatch,
    block_backward,
    block_forward,
    reference_block,
)
from swin_mm.ops.calls import is_plain_call
from swin_mm.ops.chunks import CHUNKS, Chunk, tokens_for
from swin_mm.ops.mask_cache import MASKS
from swin_mm.ops.windows import WindowPlan

if TYPE_CHECKING:
    from swin_mm.layers.block import SwinBlock

Factors = tuple[Tensor, Tensor] | None
"""What stochastic depth multiplies each picture's two branches with, (B,) each."""


def can_run_by_chunks(block: SwinBlock, x: Tensor) -> bool:
    """Say whether chunks of windows may take the place of the whole map.

    They may on the CPU, outside of tracing, where the block is made of what the papers have, with
    plain parameters, where no dropout is at work, which must not depend on how the map was divided,
    where nobody looks at what the block's modules are given, as a hook would, and nobody asked for
    an attention of another kind.
    """
    if x.device.type != "cpu" or not is_plain_call(x) or preferred_attention() is not None:
        return False
    attention, ffn, norms = block.attn.w_msa, block.ffn, (block.norm1, block.norm2)
    parts = {
        ShiftedWindowAttention: [block.attn],
        DropPath: [block.drop],
        FFN: [ffn],
        nn.LayerNorm: norms,
    }
    if any(type(one) is not kind for kind, ones in parts.items() for one in ones):
        return False
    if type(attention) not in (WindowAttention, CosineWindowAttention):
        return False
    if not (ffn.is_plain() and attention.is_plain()):
        return False
    inner = list(itertools.islice(block.modules(), 1, None))
    if any(type(one) is nn.Dropout and one.training and one.p > 0 for one in inner):
        return False
    return are_plain(inner, x)


def run_by_chunks(block: SwinBlock, x: Tensor, factors: Factors = None) -> Tensor:
    """Compute a block's output, (B, H, W, C) to the same shape, differentiable in all its inputs.

    Args:
        block: runs on windows; :func:`can_run_by_chunks` says so.
        x: tokens.
        factors: of stochastic depth.
    """
    weights = block.weights()
    tensors = weights.tensors()
    job = _Job.of(block, x, factors)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, *tensors)):
        return _ByChunks.apply(job, weights.with_tensors([None] * len(tensors)), x, *tensors)
    with autocast_off(x.device):
        return job.run(x, weights.computing_in(job.dtype), None)


@dataclass(frozen=True)
class _Job:
    """What a block has to do, but for tensors that have gradients.

    Attributes:
        plan: where the windows of each map lie.
        mask_padding: whether padded tokens are hidden.
        factors: of stochastic depth.
        dtype: what linear layers compute in.
        recompute: keep the block's input alone for the backward pass.
    """

    plan: WindowPlan
    mask_padding: bool
    factors: Factors
    dtype: torch.dtype
    recompute: bool

    @classmethod
    def of(cls, block: SwinBlock, x: Tensor, factors: Factors) -> _Job:
        attn, device = block.attn, x.device.type
        plan = WindowPlan.of(
            (x.shape[1], x.shape[2]),
            attn.w_msa.window_size,
            shifted=attn.shifted,
            small_maps=attn.small_maps,
        )
        cast = torch.is_autocast_enabled(device) and x.dtype != torch.float64
        dtype = torch.get_autocast_dtype(device) if cast else x.dtype
        return cls(plan, attn.mask_padding, factors, dtype, block.with_cp)

    def chunks(self, x: Tensor) -> Iterator[tuple[slice, Chunk, WindowBatch]]:
        """Go through all windows of (B, H, W, C): the rows of some pictures, and windows there."""
        batch, area = x.shape[0], math.prod(x.shape[1:3])
        tokens = tokens_for(self.dtype)
        together = max(min(tokens // area, batch), 1)
        for first in range(0, batch, together):
            images = slice(first, min(first + together, batch))
            number = images.stop - images.start
            rows = slice(images.start * area, images.stop * area)
            for chunk in CHUNKS.chunks(
                self.plan, number, tokens=tokens, mask_padding=self.mask_padding
            ):
                yield rows, chunk, self._windows(chunk, x, images)

    def _windows(self, chunk: Chunk, like: Tensor, images: slice) -> WindowBatch:
        """Say what holds for the windows of a chunk."""
        window, kept = self.plan.window, None
        number = math.prod(window)
        masks = [(windows, MASKS.mask(region, window, like)) for windows, region in chunk.regions]
        if self.factors is not None:
            of_tokens = chunk.images.repeat_interleave(number)
            if chunk.real is not None:
                of_tokens = of_tokens.index_select(0, chunk.real)
            kept = tuple(f[images].index_select(0, of_tokens)[:, None] for f in self.factors)
        return WindowBatch(
            number,
            masks,
            padding=chunk.padding,
            real=chunk.real,
            kept=kept,
            full=len(chunk.images) == tokens_for(self.dtype) // number,
        )

    def run(self, x: Tensor, weights: BlockWeights, keeping: list[Kept] | None) -> Tensor:
        """Compute the block's output, and keep for the gradient what it needs, if it is wanted."""
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        source, target = x.reshape(-1, x.shape[-1]), out.view(-1, x.shape[-1])
        for rows, chunk, windows in self.chunks(x):
            given = source[rows].index_select(0, chunk.tokens)
            keep = keeping is not None
            done, kept = block_forward(given, weights, windows=windows, dtype=self.dtype, keep=keep)
            target[rows].index_copy_(0, chunk.targets, done)
            if keep:
                keeping.append(kept)
        return out

    def differentiate(
        self,
        gradient: Tensor,
        x: Tensor,
        *,
        weights: BlockWeights,
        keeping: list[Kept],
        sums: GradientSums,
    ) -> Tensor:
        """Go from the gradient of the output to that of the input, and to sums of the weights'."""
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        above, source, target = (t.reshape(-1, x.shape[-1]) for t in (gradient, x, out))
        at = iter(keeping)
        for rows, chunk, windows in self.chunks(x):
            given = source[rows].index_select(0, chunk.tokens)
            if self.recompute:
                _, kept = block_forward(
                    given.clone(), weights, windows=windows, dtype=self.dtype, keep=True, again=True
                )
            else:
                kept = next(at)
            part = above[rows].index_select(0, chunk.targets)
            part = block_backward(
                part, given, kept=kept, weights=weights, windows=windows, sums=sums
            )
            target[rows].index_copy_(0, chunk.targets, part)
        return out

    def differentiate_by_reference(
        self, gradient: Tensor, inputs: Sequence[Tensor | None], *, skeleton: BlockWeights
    ) -> list[Tensor | None]:
        """Do the same on the reference path, for whoever wants a gradient of the gradient.

        Args:
            gradient: of the output.
            inputs: x and the tensors of the weights.
            skeleton: those weights without their tensors.
        """
        create = torch.is_grad_enabled()
        with torch.enable_grad():
            # Seen anew, or tied weights would each get the gradient of all, that of x's past too.
            inputs = [None if tensor is None else tensor.view_as(tensor) for tensor in inputs]
        x, *tensors = inputs
        weights = skeleton.with_tensors(tensors)
        done, given = [], []
        with torch.enable_grad():
            above, source = (t.reshape(-1, x.shape[-1]) for t in (gradient, x))
            for rows, chunk, windows in self.chunks(x):
                tokens = source[rows].index_select(0, chunk.tokens)
                done.append(reference_block(tokens, weights, windows=windows, dtype=self.dtype))
                given.append(above[rows].index_select(0, chunk.targets).to(done[-1].dtype))
        wanted = [tensor for tensor in inputs if tensor is not None and tensor.requires_grad]
        found = iter(
            torch.autograd.grad(done, wanted, given, create_graph=create, allow_unused=True)
        )
        return [
            next(found) if tensor is not None and tensor.requires_grad else None
            for tensor in inputs
        ]


class _ByChunks(torch.autograd.Function):
    """A block by chunks, with its gradient; a gradient of that gradient takes the reference path.

    Gradients of weights are summed over the chunks in float32 at least.
    """

    @staticmethod
    def forward(
        ctx: Any, job: _Job, skeleton: BlockWeights, x: Tensor, *tensors: Tensor | None
    ) -> Tensor:
        keeping = None if job.recompute else []
        with autocast_off(x.device):
            # Detached: a view of a tensor with a gradient keeps the fused kernel away.
            plain = [None if tensor is None else tensor.detach() for tensor in tensors]
            weights = skeleton.with_tensors(plain).computing_in(job.dtype)
            out = job.run(x, weights, keeping)
        ctx.job, ctx.skeleton = job, skeleton
        ctx.save_for_backward(x, *tensors, *(t for kept in keeping or () for t in kept.flat()))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        job, (x, *saved) = ctx.job, ctx.saved_tensors
        number = len(ctx.skeleton.tensors())
        tensors, flat = tuple(saved[:number]), saved[number:]
        needed = ctx.needs_input_grad[2:]
        with autocast_off(x.device):
            if torch.is_grad_enabled() or not is_plain_call(gradient):
                inputs = (x, *tensors)
                found = job.differentiate_by_reference(gradient, inputs, skeleton=ctx.skeleton)
                return None, None, *found
            keeping = [Kept.from_flat(flat[at : at + FLAT]) for at in range(0, len(flat), FLAT)]
            weights = ctx.skeleton.with_tensors(tensors).computing_in(job.dtype)
            sums = GradientSums(weights, needed[1:])
            below = job.differentiate(gradient, x, weights=weights, keeping=keeping, sums=sums)
        return None, None, below, *sums.result(tensors)
