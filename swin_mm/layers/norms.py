"""Norms by compiled kernels, where what comes next can be done in the same pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from swin_mm.layers.map_operators import norm_to_map_operator
from swin_mm.layers.plain import are_plain
from swin_mm.ops.calls import is_compiled_here, is_plain_call
from swin_mm.ops.kernels import NormTensors, are_loaded, norm_to_map, why_not
from swin_mm.ops.memory_format import channels_first

KERNEL_DTYPES = (torch.float32, torch.bfloat16)
"""What the kernels read and write."""


def normed_map(norm: nn.Module, x: Tensor) -> Tensor:
    """Norm tokens, (B, H, W, C), and lay them out as a contiguous map, (B, C, H, W).

    In one pass where kernels can do it.
    """
    if may_pass_by(x, norm) and is_affine(norm, x.shape[-1]):
        x = x.contiguous()
        out = x.new_empty(x.shape[0], x.shape[3], *x.shape[1:3])
        norm_to_map(x, out, norm=NormTensors.of(norm.weight, norm.bias, norm.eps))
        return out
    if may_be_operator(x, norm) and is_affine(norm, x.shape[-1]):
        return norm_to_map_operator(x, [norm.weight, norm.bias], norm.eps)
    return channels_first(norm(x))


def may_pass_by(x: Tensor, *modules: nn.Module) -> bool:
    """Say whether compiled kernels may do what modules do with x, where no gradient is due."""
    return (
        is_plain_call(x)  # first: tracers are not to see the rest
        and x.device.type == "cpu"
        and x.dtype in KERNEL_DTYPES
        and why_not() is None
        and not _has_gradient(x, modules)
        and are_plain(modules, x)
    )


def may_be_operator(x: Tensor, *modules: nn.Module) -> bool:
    """Say likewise of kernels as operators, gradient or not, in a graph of torch.compile."""
    return (
        is_compiled_here(x)
        and x.device.type == "cpu"
        and x.dtype in KERNEL_DTYPES
        and are_loaded()
        and are_plain(modules, x)
    )


def is_affine(norm: nn.Module, channels: int) -> bool:
    """Say whether a norm is a LayerNorm over so many channels with a weight and bias of its own.

    A tensor in a parameter's place may have a gradient that nobody asks for, or another size.
    """
    return (
        type(norm) is nn.LayerNorm
        and norm.normalized_shape == (channels,)
        and all(
            type(one) is nn.Parameter and one.shape == (channels,)
            for one in (norm.weight, norm.bias)
        )
    )


def _has_gradient(x: Tensor, modules: tuple[nn.Module, ...]) -> bool:
    return torch.is_grad_enabled() and (
        x.requires_grad or any(p.requires_grad for module in modules for p in module.parameters())
    )
