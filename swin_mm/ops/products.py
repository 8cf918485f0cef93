"""In what dtype matrices are multiplied where a processor has no instructions for halves.

Torch leaves products of bfloat16 and float16 to oneDNN where there are such instructions. Elsewhere
loops of its own take ten times as long as float32's product (benchmarks/results/avx2/profile.json).
So numbers are widened to float32 there, which loses nothing of them, and what comes out is no less
exact.
"""

from __future__ import annotations

import platform
from collections.abc import Callable

import torch
from torch import Tensor

from swin_mm.ops.precision import autocast_off


def asked_dtype(x: Tensor) -> torch.dtype:
    """Say what a product of x is asked for in: autocast's dtype, or else that of x."""
    device = x.device.type
    cast = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
    return torch.get_autocast_dtype(device) if cast and x.dtype != torch.float64 else x.dtype


def product_dtype(dtype: torch.dtype, device: torch.device) -> torch.dtype:
    """Say in what dtype a product that is asked for in ``dtype`` is computed fastest."""
    half = dtype in (torch.bfloat16, torch.float16)
    slow = half and device.type == "cpu" and not has_half_products(dtype)
    return torch.float32 if slow else dtype


def multiply(
    product: Callable[..., Tensor],
    x: Tensor,
    *weights: Tensor | None,
    asked: torch.dtype | None = None,
) -> Tensor:
    """Return ``product(x, *weights)`` in the dtype that is asked for, however it is computed.

    Args:
        product: a linear function of tensors.
        x: what it is of.
        weights: and with.
        asked: the dtype; :func:`asked_dtype` of x by default.
    """
    asked = asked or asked_dtype(x)
    wide = product_dtype(asked, x.device)
    if wide == asked:
        return product(x, *weights)
    with autocast_off(x.device):
        return product(*(None if t is None else t.to(wide) for t in (x, *weights))).to(asked)


def has_half_products(dtype: torch.dtype) -> bool:
    """Say whether oneDNN multiplies in a dtype of half precision here.

    Supposed of other processors than x86's, where it was not measured.
    """
    if not _IS_X86:
        return True
    # A switch that tracers cannot read, and that hardly anybody turns.
    on = torch.compiler.is_compiling() or torch._C._get_mkldnn_enabled()
    return on and _ONEDNN_MULTIPLIES[dtype]


def _onednn_multiplies(name: str) -> bool:
    ask = getattr(torch.ops.mkldnn, name, None)
    return torch.backends.mkldnn.is_available() and (ask is None or ask())


# Found out here, for tracers could not ask.
_IS_X86 = platform.machine() in ("x86_64", "AMD64")
_ONEDNN_MULTIPLIES = {
    torch.bfloat16: _onednn_multiplies("_is_mkldnn_bf16_supported"),
    torch.float16: _onednn_multiplies("_is_mkldnn_fp16_supported"),
}
