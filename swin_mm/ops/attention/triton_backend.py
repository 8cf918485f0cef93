"""Attention within windows by kernels of our own, in Triton, for a bias that learns on CUDA.

What torch's fused kernels lack for windows: the bias is read once for many of them, and its
gradient is added up inside, so that nothing of (windows, nH, N, N) is ever written. Not measured on
any card yet, so ``"auto"`` does not take it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from swin_mm.ops.attention.choice import OBSTACLES, AttentionCase

PROGRAMS = 1024
"""Programs of a launch, about: enough for any card, and it bounds the bias' partial sums."""

TILE = 8192
"""Scores that a program holds."""


def triton_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None,
    mask: Tensor | None,
    scale: float,
    dropout: float,
) -> Tensor:
    """Same as :func:`swin_mm.ops.attention.reference_attention`, in kernels of our own.

    Scores and softmax are float32 in every dtype; in float32, products are as exact as
    ``torch.backends.cuda.matmul.allow_tf32`` says.

    Raises:
        ValueError: if it cannot run; see :func:`swin_mm.attention_report`.
    """
    case = AttentionCase.of(q, bias, k=k, v=v, mask=mask, dropout=dropout)
    obstacle = OBSTACLES["triton"](case)
    if obstacle is not None:
        raise ValueError(f'backend="triton" cannot run here: {obstacle}; backend="auto" can')
    return _TritonAttention.apply(q, k, v, bias, mask, scale)


class _TritonAttention(torch.autograd.Function):
    """Keeps its arguments alone; the backward pass computes the weights again."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        mask: Tensor | None,
        scale: float,
    ) -> Tensor:
        from swin_mm.ops.attention import triton_kernels as kernels

        ctx.save_for_backward(q, k, v, bias, mask)
        ctx.scale = scale
        launch = _Launch(q, k, v, bias, mask, scale)
        out = _heads_inside(v)
        launch(kernels.forward, (), (out,), rows="queries")
        return out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        from swin_mm.ops.attention import triton_kernels as kernels

        q, k, v, bias, mask = ctx.saved_tensors
        launch = _Launch(q, k, v, bias, mask, ctx.scale)
        windows, heads, tokens, _ = q.shape
        grad = grad if grad.stride(-1) == 1 else grad.contiguous()
        grads = [_heads_inside(one) for one in (q, k, v)]
        sums, drops = (
            torch.empty(windows, heads, tokens, dtype=torch.float32, device=q.device)
            for _ in range(2)
        )
        learns = ctx.needs_input_grad[3]
        shape = (launch.groups, heads, tokens, tokens) if learns else (0,)
        of_bias = torch.empty(shape, dtype=torch.float32, device=q.device)
        launch(
            kernels.backward_by_queries,
            (grad,),
            (grads[0], of_bias, sums, drops),
            rows="queries",
            LEARNS=learns,
        )
        launch(kernels.backward_by_keys, (grad,), (*grads[1:], sums, drops), rows="keys")
        of_q, of_k, of_v = (one.transpose(1, 2) for one in grads)
        return of_q, of_k, of_v, of_bias.sum(0).to(bias.dtype) if learns else None, None, None


class _Launch:
    """What all launches of one call have in common.

    Attributes:
        groups: how many programs share the windows of a head and a block of rows.
    """

    def __init__(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        bias: Tensor | None,
        mask: Tensor | None,
        scale: float,
    ) -> None:
        self.read = [one if one.stride(-1) == 1 else one.contiguous() for one in (q, k, v)]
        # A pointer is wanted even where nothing is read.
        self.bias = q if bias is None else bias.contiguous()
        self.mask = q if mask is None else mask.contiguous().view(torch.uint8)
        self.has = {"HAS_BIAS": bias is not None, "HAS_MASK": mask is not None}
        self.scale = scale
        windows, heads, tokens, width = q.shape
        self.side = max(_power_of_two(tokens), 16)
        self.block = min(self.side, TILE // self.side)
        self.channels = max(_power_of_two(width), 16)
        self.blocks = -(-tokens // self.block)
        each = -(-windows // max(PROGRAMS // (heads * self.blocks), 1))
        self.sizes = (windows, max(each, 1), tokens, width)
        self.groups = -(-windows // max(each, 1))

    def __call__(
        self,
        kernel: Any,
        more: tuple[Tensor, ...],
        made: tuple[Tensor, ...],
        *,
        rows: str,
        **options: bool,
    ) -> None:
        """Run a kernel whose programs have a block of queries or of keys, and all of the others."""
        read = [*self.read, *more]
        strides = [step for one in read for step in one.stride()[:3]]
        sides = {"QUERIES": self.side, "KEYS": self.side, rows.upper(): self.block}
        if not self.groups:
            return
        with torch.cuda.device_of(read[0]):
            kernel[(self.groups, read[0].shape[1], self.blocks)](
                *self.read,
                self.bias,
                self.mask,
                *more,
                *made,
                self.scale,
                *self.sizes,
                *strides,
                **self.has,
                **options,
                **sides,
                CHANNELS=self.channels,
                PRECISION=_precision(read[0]),
            )


def _heads_inside(like: Tensor) -> Tensor:
    """Make room for a result, (windows, N, nH, d)."""
    windows, heads, tokens, width = like.shape
    return torch.empty(windows, tokens, heads, width, dtype=like.dtype, device=like.device)


def _precision(q: Tensor) -> str:
    """Say how products of float32 are computed; on the CPU it is Triton's interpreter that does."""
    if q.device.type == "cpu":
        return "interpreted"
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"


def _power_of_two(number: int) -> int:
    """Return the smallest power of two that is no smaller."""
    return 1 << (number - 1).bit_length()
