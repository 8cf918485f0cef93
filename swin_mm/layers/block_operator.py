"""A block by compiled kernels as one operator, for graphs of torch.compile.

Traced step by step, a block becomes whatever torch's compiler makes of it on the whole map. As one
operator it is what it is without the compiler, chunk by chunk, and the graph knows sizes of maps
alone: no windows, whose number is a rounded-up quotient, and no masks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from swin_mm.layers.chunk_job import ChunkJob, Factors
from swin_mm.layers.chunk_workers import ByKernels
from swin_mm.layers.chunked import is_made_for_chunks
from swin_mm.ops.block import (
    BlockWeights,
    KernelKept,
    LinearWeights,
    NormWeights,
    kernels_have,
)
from swin_mm.ops.calls import is_compiled_here
from swin_mm.ops.kernels import are_loaded
from swin_mm.ops.precision import autocast_off
from swin_mm.ops.products import asked_dtype, product_dtype
from swin_mm.ops.windows import WindowPlan

if TYPE_CHECKING:
    from swin_mm.layers.block import SwinBlock


class _Options(NamedTuple):
    """What a block does besides its weights, as the operators take it, in their order.

    Attributes:
        places: which of :meth:`BlockWeights.tensors` there are.
        window: height and width, tokens.
        shifted: whether windows are, by half a window.
        small_maps: see :meth:`WindowPlan.of`.
        mask_padding: whether padded tokens are hidden.
        dtype: what linear layers compute in. It is chosen once: what a forward pass keeps is of it.
        eps: of the two norms.
        scale: of products of queries and keys.
        post_norm: norm what a branch gives.
    """

    places: Sequence[int]
    window: Sequence[int]
    shifted: bool
    small_maps: str
    mask_padding: bool
    dtype: torch.dtype
    eps: Sequence[float]
    scale: float
    post_norm: bool

    @classmethod
    def of(cls, block: SwinBlock, weights: BlockWeights, x: Tensor) -> _Options:
        """Read them off a block."""
        attn = block.attn
        return cls(
            [place for place, tensor in enumerate(weights.tensors()) if tensor is not None],
            list(attn.w_msa.window_size),
            attn.shifted,
            attn.small_maps,
            attn.mask_padding,
            product_dtype(asked_dtype(x), x.device),
            [weights.norm1.eps, weights.norm2.eps],
            weights.scale,
            weights.post_norm,
        )

    def weights(self, present: Sequence[Tensor]) -> BlockWeights:
        """Put tensors in their places."""
        norms = {f"norm{at}": NormWeights(None, None, eps) for at, eps in enumerate(self.eps, 1)}
        layers = dict.fromkeys(("qkv", "proj", "fc1", "fc2"), LinearWeights(None, None))
        rest = {"bias": None, "cosine_scale": None}
        bare = BlockWeights(**norms, **layers, **rest, scale=self.scale, post_norm=self.post_norm)
        tensors = [None] * len(bare.tensors())
        for place, tensor in zip(self.places, present, strict=True):
            tensors[place] = tensor
        return bare.with_tensors(tensors)

    def job(self, x: Tensor, factors: Sequence[Tensor], *, recompute: bool) -> ChunkJob:
        """Say what there is to do with tokens (B, H, W, C)."""
        plan = WindowPlan.of(
            (x.shape[1], x.shape[2]),
            tuple(self.window),
            shifted=self.shifted,
            small_maps=self.small_maps,
        )
        return ChunkJob(plan, self.mask_padding, tuple(factors) or None, self.dtype, recompute)


_OPTIONS = (
    "int[] places, int[] window, bool shifted, str small_maps, bool mask_padding, "
    "ScalarType dtype, float[] eps, float scale, bool post_norm"
)


def can_be_operator(block: SwinBlock, x: Tensor) -> bool:
    """Say whether a block that torch.compile traces may become one operator.

    It may where, traced by nobody, it would run by kernels: that is, on the CPU, where they were
    compiled and nothing about the block is unusual. Not for exporters: a file with operators of
    ours runs nowhere else.
    """
    return (
        is_compiled_here(x)
        and x.device.type == "cpu"
        and are_loaded()
        and is_made_for_chunks(block, x)
        and _kernels_have(block.attn.w_msa, x)
    )


def _kernels_have(attention: Any, x: Tensor) -> bool:
    return kernels_have(
        x.dtype,
        product_dtype(asked_dtype(x), x.device),
        tokens=math.prod(attention.window_size),
        channels=attention.proj.weight.shape[1] // attention.num_heads,
    )


def run_as_operator(block: SwinBlock, x: Tensor, factors: Factors = None) -> Tensor:
    """Do what :func:`swin_mm.layers.chunked.run_by_chunks` does, as a node of a traced graph."""
    weights = block.weights()
    tensors = [tensor for tensor in weights.tensors() if tensor is not None]
    given = (x, tensors, list(factors or ()), *_Options.of(block, weights, x))
    due = torch.is_grad_enabled() and any(one.requires_grad for one in (x, *tensors))
    return _block_keeping(*given)[0] if due and not block.with_cp else _block(*given)


@torch.library.custom_op(
    "swin_mm::block",
    mutates_args=(),
    schema=f"(Tensor x, Tensor[] weights, Tensor[] factors, {_OPTIONS}) -> Tensor",
)
def _block(
    x: Tensor, weights: Sequence[Tensor], factors: Sequence[Tensor], *options: Any
) -> Tensor:
    """Compute a block's output, which is all that its gradient needs besides the input."""
    return _run(x, weights, factors, _Options(*options), keep=False)[0]


@torch.library.custom_op(
    "swin_mm::block_keeping",
    mutates_args=(),
    schema=f"(Tensor x, Tensor[] weights, Tensor[] factors, {_OPTIONS}) -> Tensor[]",
)
def _block_keeping(
    x: Tensor, weights: Sequence[Tensor], factors: Sequence[Tensor], *options: Any
) -> list[Tensor]:
    """Compute a block's output, and the tensors of :class:`KernelKept` that there are."""
    out, flat = _run(x, weights, factors, _Options(*options), keep=True)
    return [out, *_present(flat)]


@torch.library.custom_op(
    "swin_mm::block_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor x, Tensor[] weights, Tensor[] factors, Tensor[] kept, "
    f"bool[] needed, {_OPTIONS}) -> Tensor[]",
)
def _block_backward(
    gradient: Tensor,
    x: Tensor,
    weights: Sequence[Tensor],
    factors: Sequence[Tensor],
    kept: Sequence[Tensor],
    needed: Sequence[bool],
    *options: Any,
) -> list[Tensor]:
    """Compute the gradient of x, and those of the weights that are needed."""
    chosen = _Options(*options)
    # Seen anew: of tied weights each has its own sum.
    learned = chosen.weights([one.detach() for one in weights])
    tensors = learned.tensors()
    wanted = [False] * len(tensors)
    for place, need in zip(chosen.places, needed, strict=True):
        wanted[place] = need
    job = chosen.job(x, factors, recompute=not kept)
    names = _names(post_norm=chosen.post_norm)
    flat = list(KernelKept(**dict(zip(names, kept, strict=True)))) if kept else []
    with autocast_off(x.device):
        found, sums = ByKernels(job, learned).differentiate(gradient, x, flat=flat, needed=wanted)
    return [found, *itertools.compress(sums.result(tensors), wanted)]


@_block.register_fake
def _(x: Tensor, weights: Sequence[Tensor], factors: Sequence[Tensor], *options: Any) -> Tensor:
    return x.new_empty(x.shape)


@_block_keeping.register_fake
def _(
    x: Tensor, weights: Sequence[Tensor], factors: Sequence[Tensor], *options: Any
) -> list[Tensor]:
    chosen = _Options(*options)
    job = chosen.job(x, factors, recompute=False)
    room = KernelKept.empty(chosen.weights(weights), x, **job.rows(x), dtype=job.dtype)
    return [x.new_empty(x.shape), *_present(room)]


@_block_backward.register_fake
def _(
    gradient: Tensor,
    x: Tensor,
    weights: Sequence[Tensor],
    factors: Sequence[Tensor],
    kept: Sequence[Tensor],
    needed: Sequence[bool],
    *options: Any,
) -> list[Tensor]:
    found = (one for one, need in zip(weights, needed, strict=True) if need)
    return [one.new_empty(one.shape) for one in (x, *found)]


def _run(
    x: Tensor,
    weights: Sequence[Tensor],
    factors: Sequence[Tensor],
    options: _Options,
    *,
    keep: bool,
) -> tuple[Tensor, list[Tensor | None]]:
    job = options.job(x, factors, recompute=not keep)
    with autocast_off(x.device):
        return ByKernels(job, options.weights(weights)).run(x, keep=keep)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor | list[Tensor]) -> None:
    x, weights, factors, *ctx.options = inputs
    kept = [] if isinstance(output, Tensor) else output[1:]
    ctx.numbers = len(weights), len(factors)
    ctx.save_for_backward(x, *weights, *factors, *kept)


def _differentiate(ctx: Any, above: Tensor | list[Tensor | None]) -> tuple[Any, ...]:
    gradient = above if isinstance(above, Tensor) else above[0]
    weights, factors = ctx.numbers
    x, *rest = ctx.saved_tensors
    learned, drawn, kept = (
        rest[:weights],
        rest[weights : weights + factors],
        rest[weights + factors :],
    )
    needed = ctx.needs_input_grad[1]
    below, *found = _block_backward(gradient, x, learned, drawn, kept, needed, *ctx.options)
    at = iter(found)
    of_weights = [next(at) if need else None for need in needed]
    return below, of_weights, [None] * factors, *[None] * len(ctx.options)


for _operator in (_block, _block_keeping):
    _operator.register_autograd(_differentiate, setup_context=_save)


def _present(tensors: Iterable[Tensor | None]) -> list[Tensor]:
    return [one for one in tensors if one is not None]


def _names(*, post_norm: bool) -> list[str]:
    """Say which fields of :class:`KernelKept` there are, in their order."""
    without = ("middle",) if post_norm else ("branch1", "branch2")
    return [name for name in KernelKept._fields if name not in without]
