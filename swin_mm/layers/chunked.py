"""A block on a few windows at a time: the same numbers, with less traffic between memory and core.

What a block does is local to a window. Run on the whole map, each of its steps reads and writes the
map; run on a chunk of windows, all of them find it in the cache. In training the same function
serves once more: keep the block's input alone, and do each chunk again when its gradient is due.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules import module as torch_module

from swin_mm.ops.chunks import CHUNKS, TOKENS, Chunk
from swin_mm.ops.mask_cache import MASKS
from swin_mm.ops.windows import WindowPlan

if TYPE_CHECKING:
    from swin_mm.layers.block import SwinBlock

Kept = tuple[Tensor, Tensor] | None
"""What stochastic depth multiplies each picture's branches with, (B,) each."""


def can_run_by_chunks(block: SwinBlock, x: Tensor) -> bool:
    """Say whether chunks may take the place of the whole map.

    They may on the CPU, outside of tracing, with plain parameters, where no dropout is at work,
    which must not depend on how the map was divided, and where nobody looks at what the block's
    modules are given: a hook would see a chunk where it expects a map.
    """
    if torch.compiler.is_compiling() or type(x) is not Tensor or x.device.type != "cpu":
        return False
    if any(type(parameter) is not nn.Parameter for parameter in block.parameters()):
        return False  # sharded, or otherwise not what it seems
    inner = list(itertools.islice(block.modules(), 1, None))
    if _globally_watched() or any(map(_is_watched, inner)):
        return False
    return not any(type(one) is nn.Dropout and one.training and one.p > 0 for one in inner)


def run_by_chunks(block: SwinBlock, x: Tensor, kept: Kept = None) -> Tensor:
    """Compute a block's output, (B, H, W, C) to the same shape, without gradients.

    Args:
        block: runs on windows.
        x: tokens.
        kept: see :data:`Kept`.
    """
    out = torch.empty(x.shape, dtype=x.dtype)
    source, target = x.reshape(-1, x.shape[-1]), out.view(-1, x.shape[-1])
    bias = block.attn.w_msa.bias()
    for images, rows, chunk in _chunks(block, x.shape):
        windows = _take(source[rows], chunk)
        done = block.on_windows(windows, bias, *_conditions(block, chunk, x, kept, images))
        _put(target[rows], chunk, done)
    return out


class Recomputed(torch.autograd.Function):
    """A block by chunks that keeps its input alone for the backward pass.

    Gradients of parameters are summed over the chunks in float32 at least.
    """

    @staticmethod
    def forward(ctx: Any, block: SwinBlock, kept: Kept, x: Tensor, *parameters: Tensor) -> Tensor:
        """Run by chunks; the parameters are there for autograd to see."""
        ctx.block, ctx.kept = block, kept
        ctx.autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        ctx.save_for_backward(x, *parameters)
        return run_by_chunks(block, x, kept)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Do each chunk again, and take its gradients."""
        x, *parameters = ctx.saved_tensors
        block, (enabled, dtype) = ctx.block, ctx.autocast
        needs = ctx.needs_input_grad[3:]
        learned = [p for p, needed in zip(parameters, needs, strict=True) if needed]
        sums: list[Tensor | None] = [None] * len(learned)
        source, above = (t.reshape(-1, x.shape[-1]) for t in (x, grad))
        below = torch.empty(source.shape, dtype=x.dtype)
        with torch.enable_grad(), torch.autocast("cpu", dtype, enabled=enabled):
            bias = block.attn.w_msa.bias()
            given = bias.detach().requires_grad_(bias.requires_grad)
            wanted = [given, *learned] if bias.requires_grad else learned
            total: list[Tensor | None] = [None] * len(wanted)
            for images, rows, chunk in _chunks(block, x.shape):
                windows = _take(source[rows], chunk).detach().requires_grad_()
                done = block.on_windows(
                    windows, given, *_conditions(block, chunk, x, ctx.kept, images)
                )
                found = torch.autograd.grad(
                    done, [windows, *wanted], _take_zeroed(above[rows], chunk), allow_unused=True
                )
                _put(below[rows], chunk, found[0])
                _add(total, found[1:])
            if bias.requires_grad:
                first, *total = total
                sums = list(
                    torch.autograd.grad(bias, learned, first.to(bias.dtype), allow_unused=True)
                )
        _add(sums, total)
        result = iter(sums)
        grads = [
            _like(next(result), p) if needed else None
            for p, needed in zip(parameters, needs, strict=True)
        ]
        return None, None, below.view_as(x), *grads


def _chunks(block: SwinBlock, shape: torch.Size) -> Iterator[tuple[slice, slice, Chunk]]:
    """Go through all windows of a batch (B, H, W, C): some pictures, their rows, and a chunk."""
    batch, height, width, _ = shape
    attn = block.attn
    plan = WindowPlan.of(
        (height, width),
        attn.w_msa.window_size,
        shifted=attn.shifted,
        small_maps=attn.small_maps,
    )
    together = max(min(TOKENS // (height * width), batch), 1)
    for first in range(0, batch, together):
        images = slice(first, min(first + together, batch))
        rows = slice(images.start * height * width, images.stop * height * width)
        number = images.stop - images.start
        for chunk in CHUNKS.chunks(plan, number, mask_padding=attn.mask_padding):
            yield images, rows, chunk


def _conditions(
    block: SwinBlock, chunk: Chunk, like: Tensor, kept: Kept, images: slice
) -> tuple[list[tuple[int, Tensor | None]], Tensor | None, Kept]:
    """What holds for the windows of a chunk: their masks, padding, and which pictures are kept."""
    window = block.attn.w_msa.window_size
    masks = [(number, MASKS.mask(region, window, like)) for number, region in chunk.regions]
    if kept is not None:
        kept = tuple(
            factors[images].index_select(0, chunk.images)[:, None, None] for factors in kept
        )
    return masks, chunk.padding, kept


def _take(source: Tensor, chunk: Chunk) -> Tensor:
    """Gather the tokens of a chunk from maps (B * H * W, C) into windows (n, N, C)."""
    rows = source.index_select(0, chunk.tokens)
    return rows.view(len(chunk.images), -1, source.shape[-1])


def _take_zeroed(source: Tensor, chunk: Chunk) -> Tensor:
    """Gather likewise, with zeros for padding."""
    windows = _take(source, chunk)
    if chunk.padding is not None:
        windows.flatten(0, 1).index_fill_(0, chunk.padding, 0)
    return windows


def _put(target: Tensor, chunk: Chunk, windows: Tensor) -> None:
    """Put windows (n, N, C) back where their tokens are from, in place; padding falls away."""
    rows, tokens = windows.flatten(0, 1), chunk.tokens
    if chunk.real is not None:
        rows, tokens = rows.index_select(0, chunk.real), tokens.index_select(0, chunk.real)
    target.index_copy_(0, tokens, rows.to(target.dtype))


def _add(sums: list[Tensor | None], found: Sequence[Tensor | None]) -> None:
    """Add gradients to what there is of them, in float32 at least."""
    for place, gradient in enumerate(found):
        if gradient is None:
            continue
        wide = gradient.to(torch.promote_types(gradient.dtype, torch.float32))
        sums[place] = wide.clone() if sums[place] is None else sums[place].add_(wide)


def _like(gradient: Tensor | None, parameter: Tensor) -> Tensor:
    return torch.zeros_like(parameter) if gradient is None else gradient.to(parameter.dtype)


def _is_watched(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def _globally_watched() -> bool:
    return bool(
        torch_module._global_forward_hooks
        or torch_module._global_forward_pre_hooks
        or torch_module._global_backward_hooks
        or torch_module._global_backward_pre_hooks
    )
