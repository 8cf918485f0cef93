"""A block on some windows, by compiled kernels: each pass over the tokens does all that it can.

The products of linear layers are torch's; what lies between two of them is one kernel
(:mod:`swin_mm.ops.kernels`), which takes tokens from the map, norms, adds biases and residuals, and
puts tokens back.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from swin_mm.ops.block.fast import fuses, linear_gelu
from swin_mm.ops.block.kept import NOTHING_KEPT, KernelKept
from swin_mm.ops.block.sums import GradientSums
from swin_mm.ops.block.weights import BlockWeights, NormWeights
from swin_mm.ops.block.windows import WindowBatch
from swin_mm.ops.kernels import (
    AttentionKernel,
    Branch,
    Input,
    NormTensors,
    add_branch,
    gelu,
    gelu_backward,
    gradient_rows,
    take_normed,
)

Masks = Sequence[tuple[int, Tensor | None]]

# Of windows of 24 x 24; a backward pass holds several tables of them for each thread.
_MOST_TOKENS, _MOST_CHANNELS = 576, 256


def can_run_kernels(weights: BlockWeights, x: Tensor, dtype: torch.dtype) -> bool:
    """Say whether the kernels can do a block whose linear layers compute in a dtype."""
    channels = weights.proj.weight.shape[1] // weights.num_heads
    return kernels_have(x.dtype, dtype, tokens=weights.bias.shape[1], channels=channels)


def kernels_have(*dtypes: torch.dtype, tokens: int, channels: int) -> bool:
    """Say whether the kernels have these dtypes, and room for windows and heads of this size."""
    kinds = (torch.float32, torch.bfloat16)
    return (
        all(dtype in kinds for dtype in dtypes)
        and tokens <= _MOST_TOKENS
        and channels <= _MOST_CHANNELS
    )


class KernelBlock:
    """A block whose windows come some at a time, forwards, or backwards.

    Args:
        weights: what it has learned, without gradients.
        dtype: what linear layers compute in.

    Attributes:
        weights: those, the linear layers in ``dtype``.
    """

    def __init__(self, weights: BlockWeights, dtype: torch.dtype) -> None:
        self.weights = weights.computing_in(dtype)
        self._dtype = dtype
        first, second = (_norm(n, weights.fc2.weight) for n in (weights.norm1, weights.norm2))
        self._norms = (None, None) if weights.post_norm else (first, second)
        self._last_norms = (first, second) if weights.post_norm else (None, None)
        self._biases = [
            _vector(layer.bias, layer.weight, 0)
            for layer in (weights.proj, weights.fc1, weights.fc2)
        ]
        self._attention = AttentionKernel(
            _vector(weights.qkv.bias, weights.qkv.weight, 0),
            weights.bias,
            cosine_scale=weights.cosine_scale,
            scale=weights.scale,
            channels=weights.proj.weight.shape[1] // weights.num_heads,
        )

    def room(self, like: Tensor, *, every: int, real: int) -> KernelKept:
        """Make room for what the gradient needs of so many tokens of a map, (..., C)."""
        return KernelKept.empty(self.weights, like, every=every, real=real, dtype=self._dtype)

    def forward(
        self,
        source: Tensor,
        target: Tensor | None,
        *,
        windows: WindowBatch,
        masks: Masks,
        room: KernelKept | None = None,
    ) -> None:
        """Do what :func:`swin_mm.ops.block.reference_block` does, from a map into a map.

        Args:
            source: tokens of the map, (B * H * W, C).
            target: likewise, where they go; ``None`` where it is known what becomes of them.
            windows: what holds for these windows.
            masks: theirs, as :class:`swin_mm.ops.kernels.AttentionKernel` takes them.
            room: where what :meth:`backward` needs of them goes; ``None`` where it is not due.
        """
        at, last_norms, post_norm = windows.at, self._last_norms, self.weights.post_norm
        real, to = len(at.target), room or NOTHING_KEPT
        attended = self._attend(source, windows, masks=masks, to=to)
        branch1 = _product(attended, self.weights.proj.weight, to.branch1)
        middle = to.middle
        if middle is None:
            middle = source.new_empty(real, source.shape[1], dtype=torch.float32)
        given2 = torch.empty_like(branch1) if to.given2 is None else to.given2
        add_branch(
            source,
            Branch(branch1, self._biases[0], windows.factor(0), last_norms[0], to.moments1),
            middle,
            source=at.target,
            norm=self._norms[1],
            given=given2,
            moments=None if post_norm else to.moments2,
        )
        hidden, active = self._first_linear(given2, windows, to=to)
        if target is None and not post_norm:
            return
        if hidden is not None:
            gelu(hidden, self._biases[1], active)
        branch2 = _product(active, self.weights.fc2.weight, to.branch2)
        add_branch(
            middle,
            Branch(branch2, self._biases[2], windows.factor(1), last_norms[1], to.moments2),
            middle if target is None else target,
            target=None if target is None else at.target,
        )

    def _attend(
        self, source: Tensor, windows: WindowBatch, *, masks: Masks, to: KernelKept
    ) -> Tensor:
        """Return what attention gives, (real, C)."""
        at, given = windows.at, to.given1
        if given is None:
            given = source.new_empty(len(at.source), source.shape[1], dtype=self._dtype)
        moments = None if self.weights.post_norm else to.moments1
        take_normed(source, at.source, given, norm=self._norms[0], moments=moments)
        qkv = _product(given, self.weights.qkv.weight, to.qkv)
        attended = to.attended
        if attended is None:
            attended = qkv.new_empty(len(at.target), qkv.shape[1] // 3)
        self._attention.forward(qkv, attended, masks=masks, places=at.places)
        return attended

    def _first_linear(
        self, given: Tensor, windows: WindowBatch, *, to: KernelKept
    ) -> tuple[Tensor | None, Tensor]:
        """Return the FFN's hidden channels and where their GELU goes, or that alone, done."""
        layer = self.weights.fc1
        if to.hidden is None and windows.full and fuses(given, layer):
            return None, linear_gelu(given, layer)
        hidden = _product(given, layer.weight, to.hidden)
        return hidden, hidden if to.hidden is None else torch.empty_like(hidden)

    def backward(
        self,
        above: Tensor,
        source: Tensor,
        target: Tensor,
        *,
        kept: KernelKept,
        windows: WindowBatch,
        masks: Masks,
        sums: GradientSums,
    ) -> None:
        """Go from the gradient of the block's output to that of its input and weights.

        Args:
            above: gradient of the map after the block, (B * H * W, C).
            source: the map before it.
            target: where its gradient goes.
            kept: what :meth:`forward` kept.
            windows: what holds for these windows.
            masks: theirs.
            sums: where the weights' gradients are added.
        """
        w, at = self.weights, windows.at
        proj_bias, fc1_bias, fc2_bias = self._biases
        real, channels = len(at.target), source.shape[1]
        gradient = source.new_empty(real, channels, dtype=torch.float32)
        branch = source.new_empty(real, channels, dtype=self._dtype)

        gradient_rows(
            above,
            gradient,
            source=at.target,
            branch=self._branch(kept.branch2, fc2_bias, windows.factor(1), 1, kept.moments2),
            found=branch,
            sums=[None, None, *self._norm_sums(sums, 1, last=True), sums.vector(w.fc2.bias)],
        )
        of_active = branch @ w.fc2.weight
        active = torch.empty_like(of_active)
        gelu_backward(
            kept.hidden, fc1_bias, result=active, gradient=of_active, sums=sums.vector(w.fc1.bias)
        )
        sums.add_weight(w.fc2, branch, active)
        sums.add_weight(w.fc1, of_active, kept.given2)
        gradient_rows(
            gradient,
            gradient,
            given=Input(
                torch.mm(of_active, w.fc1.weight),
                norm=self._norms[1],
                x=kept.middle,
                moments=kept.moments2,
            ),
            branch=self._branch(kept.branch1, proj_bias, windows.factor(0), 0, kept.moments1),
            found=branch,
            sums=[
                *self._norm_sums(sums, 1, last=False),
                *self._norm_sums(sums, 0, last=True),
                sums.vector(w.proj.bias),
            ],
        )
        sums.add_weight(w.proj, branch, kept.attended)
        of_qkv = torch.empty_like(kept.qkv)
        self._attention.backward(
            kept.qkv, branch @ w.proj.weight, of_qkv, masks=masks, places=at.places
        )
        sums.add_weight(w.qkv, of_qkv, kept.given1)
        gradient_rows(
            gradient,
            target,
            target=at.target,
            given=Input(
                of_qkv @ w.qkv.weight,
                places=windows.real,
                norm=self._norms[0],
                x=source,
                index=at.target,
                moments=kept.moments1,
            ),
            sums=[*self._norm_sums(sums, 0, last=False), None, None, None],
        )

    def add_attention(self, sums: GradientSums) -> None:
        """Add what the attention has learned, once all windows have been gone through."""
        of_bias, of_given, of_cosine = self._attention.sums()
        sums.add(self.weights.bias, of_bias)
        sums.add(self.weights.qkv.bias, of_given)
        sums.add(self.weights.cosine_scale, of_cosine)

    def _branch(
        self, rows: Tensor | None, bias: Tensor, factor: Tensor | None, which: int, moments: Tensor
    ) -> Branch:
        return Branch(rows, bias, factor, self._last_norms[which], moments)

    def _norm_sums(self, sums: GradientSums, which: int, *, last: bool) -> Sequence[Tensor | None]:
        if last != self.weights.post_norm:
            return None, None
        norm = (self.weights.norm1, self.weights.norm2)[which]
        return sums.vector(norm.weight), sums.vector(norm.bias)


def _product(x: Tensor, weight: Tensor, out: Tensor | None) -> Tensor:
    """Multiply (rows, in) with a linear layer's weight, into ``out`` if it is there."""
    return torch.mm(x, weight.t()) if out is None else torch.mm(x, weight.t(), out=out)


def _norm(norm: NormWeights, layer: Tensor) -> NormTensors:
    return NormTensors(_vector(norm.weight, layer, 1), _vector(norm.bias, layer, 0), norm.eps)


def _vector(learned: Tensor | None, layer: Tensor, otherwise: float) -> Tensor:
    """Return what is learned in float32, or one number for each that a layer gives."""
    if learned is None:
        return layer.new_full(layer.shape[:1], otherwise, dtype=torch.float32)
    return learned.float().contiguous()
