"""Kernels that go through tokens one by one: norms, residuals, GELU, and their gradients.

Tensors of tokens are (rows, C) in float32 or bfloat16 and contiguous, indices (rows,) of int64,
what is learned (C,) in float32, moments (rows, 2). Nothing here checks that: the block does.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from swin_mm.ops.kernels import structures
from swin_mm.ops.kernels.library import library


class NormTensors(NamedTuple):
    """A LayerNorm, contiguous, in float32."""

    weight: Tensor
    bias: Tensor
    eps: float

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, eps: float) -> NormTensors:
        """Take a norm's numbers, without their gradients."""
        return cls(*(one.detach().float().contiguous() for one in (weight, bias)), eps)


@dataclass(frozen=True)
class Branch:
    """A branch as its last linear layer gave it, without that layer's bias.

    Attributes:
        rows: (rows, C).
        bias: that bias.
        factor: what stochastic depth multiplies each row with, (rows,) or ``None``.
        norm: of what the branch gives, where norms come last.
        moments: of that norm; written on the way forwards, unless it is ``None``.
    """

    rows: Tensor
    bias: Tensor
    factor: Tensor | None = None
    norm: NormTensors | None = None
    moments: Tensor | None = None


@dataclass(frozen=True)
class Input:
    """What a branch was given, on the way back: the gradient of that, and the norm before it.

    Attributes:
        gradient: (rows of the branch's input, C).
        places: which of those rows each token is, ``None`` for all in their order.
        norm: of what the branch was given, where norms come first.
        x: what that norm was given, and ``index``, which of its rows, ``None`` likewise.
        moments: of that norm.
    """

    gradient: Tensor
    places: Tensor | None = None
    norm: NormTensors | None = None
    x: Tensor | None = None
    index: Tensor | None = None
    moments: Tensor | None = None


def take_normed(
    x: Tensor, index: Tensor, result: Tensor, *, norm: NormTensors | None, moments: Tensor | None
) -> None:
    """Write the norms of some rows, and zeros where the index is negative."""
    library().swin_mm_take_normed(
        halves(x, result), pointer(x), pointer(index), *result.shape, as_structure(norm),
        pointer(result), pointer(moments), torch.get_num_threads(),
    )  # fmt: skip


def add_branch(
    x: Tensor,
    branch: Branch,
    total: Tensor,
    *,
    source: Tensor | None = None,
    target: Tensor | None = None,
    norm: NormTensors | None = None,
    given: Tensor | None = None,
    moments: Tensor | None = None,
) -> None:
    """Write tokens and what a branch adds to them, and what the next branch is given.

    Args:
        x: tokens before.
        branch: what is added.
        total: tokens after.
        source: which rows of x they are.
        target: which rows of total they become.
        norm: of what the next branch is given.
        given: that, of the branch's dtype.
        moments: of that norm.
    """
    job = structures.AddBranch(
        pointer(x), pointer(source), pointer(branch.rows), pointer(branch.bias),
        as_structure(branch.norm), pointer(branch.moments), pointer(branch.factor), pointer(total),
        pointer(target), as_structure(norm), pointer(given), pointer(moments), *branch.rows.shape,
    )  # fmt: skip
    kinds = halves(x, total, branch.rows)
    library().swin_mm_add_branch(kinds, ctypes.byref(job), torch.get_num_threads())


def gradient_rows(
    above: Tensor,
    result: Tensor,
    *,
    sums: list[Tensor | None],
    source: Tensor | None = None,
    target: Tensor | None = None,
    given: Input | None = None,
    branch: Branch | None = None,
    found: Tensor | None = None,
) -> None:
    """Bring gradients past one branch and into the branch before it.

    Args:
        above: gradient of the tokens after a branch.
        result: gradient of the tokens before it.
        sums: what is added up on the way, each (C,): of weight and bias of ``given``'s norm, of
            those of ``branch``'s, and of the bias of ``branch``.
        source: which rows of above they are.
        target: which rows of result they become.
        given: what the branch was given; ``None`` adds nothing.
        branch: the branch before; ``None`` where there is none.
        found: gradient of what its last linear layer gave, (rows, C).
    """
    given_rows = None if given is None else given.gradient
    like = found if found is not None else given_rows
    x = like if given is None or given.x is None else given.x
    rows = len(source if source is not None else above)
    job = structures.Gradients(
        pointer(above), pointer(source), pointer(given_rows),
        pointer(None if given is None else given.places), _norm_before(given),
        pointer(result), pointer(target), pointer(found),
        pointer(None if branch is None else branch.factor), _norm_after(branch),
        (ctypes.c_void_p * 5)(*map(pointer, sums)), rows, result.shape[1],
    )  # fmt: skip
    kinds = halves(above, like, x, result)
    library().swin_mm_gradient_rows(kinds, ctypes.byref(job), torch.get_num_threads())


def gelu(x: Tensor, bias: Tensor, result: Tensor) -> None:
    """Write GELU(x + bias), (rows, channels); the result may be x."""
    library().swin_mm_gelu(
        halves(x), pointer(x), pointer(bias), pointer(result), *x.shape, torch.get_num_threads()
    )


def gelu_backward(
    x: Tensor, bias: Tensor, *, result: Tensor, gradient: Tensor, sums: Tensor | None
) -> None:
    """Write GELU(x + bias) again, and replace its gradient by that of x, summed into the bias's."""
    library().swin_mm_gelu_backward(
        halves(x), pointer(x), pointer(bias), pointer(result), pointer(gradient), pointer(sums),
        *x.shape, torch.get_num_threads(),
    )  # fmt: skip


def pointer(tensor: Tensor | None) -> int | None:
    """Return where a tensor's numbers are.

    Raises:
        ValueError: if they do not lie one after the other on the CPU, as the kernels read them.
    """
    if tensor is None:
        return None
    if not tensor.is_contiguous() or tensor.device.type != "cpu":
        raise ValueError(
            f"kernels read contiguous tensors on the CPU, got strides {tensor.stride()} for "
            f"{tuple(tensor.shape)} on {tensor.device}; call contiguous() first"
        )
    return tensor.data_ptr()


def halves(*tensors: Tensor) -> int:
    """Say of which kind tensors are: a bit each, set for bfloat16."""
    return sum((tensor.dtype == torch.bfloat16) << bit for bit, tensor in enumerate(tensors))


def as_structure(norm: NormTensors | None) -> structures.Norm:
    """Lay out a norm, or none, as the kernels read it."""
    if norm is None:
        return structures.Norm()
    return structures.Norm(pointer(norm.weight), pointer(norm.bias), norm.eps)


def _norm_before(given: Input | None) -> structures.NormBackward:
    if given is None or given.norm is None:
        return structures.NormBackward()
    return structures.NormBackward(
        pointer(given.x), pointer(given.index), None, pointer(given.moments),
        pointer(given.places), pointer(given.norm.weight),
    )  # fmt: skip


def _norm_after(branch: Branch | None) -> structures.NormBackward:
    if branch is None or branch.norm is None:
        return structures.NormBackward()
    return structures.NormBackward(
        pointer(branch.rows), None, pointer(branch.bias), pointer(branch.moments), None,
        pointer(branch.norm.weight),
    )  # fmt: skip
