"""A block on a few windows at a time: the same numbers, with less traffic between memory and core.

What a block does is local to a window. Run on the whole map, each of its steps reads and writes the
map; run on a chunk of windows, all of them find it in the cache. In training, what the gradient
needs is kept chunk by chunk, or, to save memory, computed again when it is due.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from swin_mm.layers.attention import ShiftedWindowAttention, WindowAttention
from swin_mm.layers.chunk_job import ChunkJob, Factors
from swin_mm.layers.chunk_workers import worker
from swin_mm.layers.cosine_attention import CosineWindowAttention
from swin_mm.layers.ffn import FFN
from swin_mm.layers.plain import are_plain
from swin_mm.layers.stochastic_depth import DropPath
from swin_mm.ops.attention import preferred_attention
from swin_mm.ops.block import BlockWeights, reference_block
from swin_mm.ops.calls import is_plain_call
from swin_mm.ops.precision import autocast_off

if TYPE_CHECKING:
    from swin_mm.layers.block import SwinBlock


def can_run_by_chunks(block: SwinBlock, x: Tensor) -> bool:
    """Say whether chunks of windows may take the place of the whole map.

    They may on the CPU, outside of tracing, for blocks :func:`is_made_for_chunks` has nothing
    against.
    """
    return x.device.type == "cpu" and is_plain_call(x) and is_made_for_chunks(block, x)


def is_made_for_chunks(block: SwinBlock, x: Tensor) -> bool:
    """Say whether a block does the same on a few windows as on all.

    So it is where it is made of what the papers have, with plain parameters, where no dropout is at
    work, which must not depend on how the map was divided, where nobody looks at what the block's
    modules are given, as a hook would, and nobody asked for an attention of another kind.
    """
    if preferred_attention() is not None:
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
    job = ChunkJob.of(block, x, factors)
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, *tensors)):
        return _ByChunks.apply(job, weights.with_tensors([None] * len(tensors)), x, *tensors)
    with autocast_off(x.device):
        return worker(job, weights, x).run(x, keep=False)[0]


def _differentiate_by_reference(
    job: ChunkJob,
    gradient: Tensor,
    inputs: Sequence[Tensor | None],
    *,
    skeleton: BlockWeights,
) -> list[Tensor | None]:
    """Go back on the reference path, for whoever wants a gradient of the gradient.

    Args:
        job: what was done.
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
        for rows, chunk, windows in job.chunks(x):
            tokens = source[rows].index_select(0, chunk.tokens)
            done.append(reference_block(tokens, weights, windows=windows, dtype=job.dtype))
            given.append(above[rows].index_select(0, chunk.targets).to(done[-1].dtype))
    wanted = [tensor for tensor in inputs if tensor is not None and tensor.requires_grad]
    found = iter(torch.autograd.grad(done, wanted, given, create_graph=create, allow_unused=True))
    return [
        next(found) if tensor is not None and tensor.requires_grad else None for tensor in inputs
    ]


class _ByChunks(torch.autograd.Function):
    """A block by chunks, with its gradient; a gradient of that gradient takes the reference path.

    Gradients of weights are summed over the chunks in float32 at least.
    """

    @staticmethod
    def forward(
        ctx: Any, job: ChunkJob, skeleton: BlockWeights, x: Tensor, *tensors: Tensor | None
    ) -> Tensor:
        with autocast_off(x.device):
            # Detached: a view of a tensor with a gradient keeps the fused kernel away.
            plain = [None if tensor is None else tensor.detach() for tensor in tensors]
            done = worker(job, skeleton.with_tensors(plain), x)
            out, flat = done.run(x, keep=not job.recompute)
        ctx.job, ctx.skeleton, ctx.kind = job, skeleton, type(done)
        # Weights that were cast need not be so again, unless memory is what matters.
        ctx.worker = done if job.dtype != x.dtype and not job.recompute else None
        ctx.save_for_backward(x, *tensors, *flat)
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
                found = _differentiate_by_reference(job, gradient, inputs, skeleton=ctx.skeleton)
                return None, None, *found
            done = ctx.worker or ctx.kind(job, ctx.skeleton.with_tensors(tensors))
            below, sums = done.differentiate(gradient, x, flat=flat, needed=needed[1:])
        return None, None, below, *sums.result(tensors)
