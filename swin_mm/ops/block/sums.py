"""Gradients of a block's weights, summed over its windows."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from swin_mm.ops.block.weights import BlockWeights, LinearWeights


class GradientSums:
    """Gradients of a block's weights, summed over its windows in float32 at least.

    Args:
        weights: what they are of.
        needed: which of its :meth:`BlockWeights.tensors` need one.
    """

    def __init__(self, weights: BlockWeights, needed: Sequence[bool]) -> None:
        tensors = weights.tensors()
        self._sums: list[Tensor | None] = [None] * len(tensors)
        self._places = {
            id(tensor): place
            for place, (tensor, need) in enumerate(zip(tensors, needed, strict=True))
            if tensor is not None and need
        }

    def needs(self, tensor: Tensor | None) -> bool:
        """Say whether a tensor's gradient is asked for."""
        return id(tensor) in self._places

    def add(self, tensor: Tensor | None, gradient: Tensor) -> None:
        """Add to the gradient of one of the weights, if it is asked for."""
        if not self.needs(tensor):
            return
        place, wide = self._places[id(tensor)], torch.promote_types(gradient.dtype, torch.float32)
        total = self._sums[place]
        self._sums[place] = gradient.to(wide) if total is None else total.add_(gradient)

    def vector(self, tensor: Tensor | None) -> Tensor | None:
        """Return where the gradient of one of the weights is summed up, to be added to in place.

        ``None`` where none is asked for. The sum is of float32 and contiguous.
        """
        if not self.needs(tensor):
            return None
        place = self._places[id(tensor)]
        if self._sums[place] is None:
            self._sums[place] = tensor.new_zeros(tensor.shape, dtype=torch.float32)
        return self._sums[place]

    def add_weight(self, layer: LinearWeights, gradient: Tensor, x: Tensor) -> None:
        """Add to a linear layer's weight what (rows, out) and its input (rows, in) give."""
        if not self.needs(layer.weight):
            return
        total = self._sums[self._places[id(layer.weight)]]
        if total is not None and total.dtype == x.dtype:
            torch.addmm(total, gradient.t(), x, out=total)
        else:
            self.add(layer.weight, gradient.t() @ x)

    def add_linear(self, layer: LinearWeights, gradient: Tensor, x: Tensor) -> None:
        """Add to a linear layer's weight and bias."""
        self.add_weight(layer, gradient, x)
        if self.needs(layer.bias):
            self.add(layer.bias, _sum_rows(gradient))

    def result(self, like: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Return the sums, in the order and with the dtypes of other tensors."""
        needed = set(self._places.values())
        return [
            None
            if place not in needed or tensor is None
            else torch.zeros_like(tensor)
            if total is None  # a batch of no pictures
            else total.to(tensor.dtype)
            for place, (total, tensor) in enumerate(zip(self._sums, like, strict=True))
        ]


def _sum_rows(x: Tensor) -> Tensor:
    """Sum (rows, C) to (C,); float32 as a product, which takes half of the sum's time."""
    return (x.new_ones(1, len(x)) @ x)[0] if x.dtype == torch.float32 else x.sum(0)
