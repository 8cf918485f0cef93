"""Dividing and joining dimensions, so that one traced graph serves all sizes.

``reshape`` copies if it must. While tracing, the question whether it must is asked of sizes that
are not known, and the answer for the size at hand becomes a guard: another size, another graph. So
while tracing these copy in any case. The eager network copies at the same places, but for maps that
are a single row or column of windows.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def split_axes(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """View a contiguous tensor with some dimensions divided."""
    x = x.view(shape)
    if torch.compiler.is_compiling() and torch.is_grad_enabled():
        return _WithPlainGradient.apply(x)
    return x


def join_axes(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Reshape a tensor, of any strides, with some dimensions joined."""
    if torch.compiler.is_compiling():
        return x.clone(memory_format=torch.contiguous_format).view(shape)
    return x.reshape(shape)


class _WithPlainGradient(torch.autograd.Function):
    """Leaves a tensor as it is, and copies its gradient, which autograd is about to reshape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Return a view."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Lay the gradient out in the order of its dimensions."""
        return grad.clone(memory_format=torch.contiguous_format)
