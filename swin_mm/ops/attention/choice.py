"""Which backend computes an attention, and why another does not.

Each backend has a function that looks at a case and says what stands in its way. ``"auto"`` takes
the first of :data:`AUTO` with nothing in its way; the report says what the others answered.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from swin_mm.ops.calls import is_transformed

Name = Literal["sdpa", "reference", "triton"]
Masks = Literal["none", "shared", "one a window"]

_FUSED = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class AttentionCase:
    """What of an attention decides who may compute it.

    Attributes:
        device: type of the device, as ``"cuda"``.
        dtype: of queries and keys.
        tokens: of a window, N.
        heads: number of heads, nH.
        channels: of a head, d.
        mask: whether windows have no mask, share one, or have one each.
        bias_learns: whether the bias is due a gradient.
        tokens_learn: whether queries, keys or values are.
        dropout: whether attention weights are dropped.
        compiled: whether torch's compiler is tracing.
        transformed: whether torch.func or forward differentiation is at work.
    """

    device: str
    dtype: torch.dtype
    tokens: int
    heads: int
    channels: int
    mask: Masks = "none"
    bias_learns: bool = False
    tokens_learn: bool = False
    dropout: bool = False
    compiled: bool = False
    transformed: bool = False

    @classmethod
    def of(
        cls,
        q: Tensor,
        bias: Tensor | None = None,
        *,
        k: Tensor | None = None,
        v: Tensor | None = None,
        mask: Tensor | None = None,
        dropout: float = 0.0,
    ) -> AttentionCase:
        """Read a case off the arguments of :func:`swin_mm.ops.window_attention`."""
        learning = torch.is_grad_enabled()
        return cls(
            device=q.device.type,
            dtype=q.dtype,
            tokens=q.shape[-2],
            heads=q.shape[-3],
            channels=q.shape[-1],
            mask="none" if mask is None else "shared" if mask.dim() == 2 else "one a window",
            bias_learns=learning and bias is not None and bias.requires_grad,
            tokens_learn=learning and any(t is not None and t.requires_grad for t in (q, k, v)),
            dropout=dropout > 0,
            compiled=torch.compiler.is_compiling(),
            transformed=is_transformed(q),
        )


def choose(case: AttentionCase) -> Name:
    """Say which backend ``"auto"`` takes."""
    wanted = AUTO if _preferred is None else (_preferred, *AUTO)
    return next(name for name in wanted if OBSTACLES[name](case) is None)


_preferred: Name | None = None


@contextlib.contextmanager
def prefer_attention(backend: Name) -> Iterator[None]:
    """Let ``"auto"`` take a backend wherever it can run: in whole networks, to compare or to try.

    It holds for the whole process, backward passes in other threads too.

    Raises:
        ValueError: if the backend has another name.
    """
    global _preferred
    if backend not in OBSTACLES:
        raise ValueError(f"backend must be one of {tuple(OBSTACLES)}, got {backend!r}")
    before, _preferred = _preferred, backend
    try:
        yield
    finally:
        _preferred = before


def preferred_attention() -> Name | None:
    """Return the backend that :func:`prefer_attention` has set, for whoever has a way around it."""
    return _preferred


def _nothing(case: AttentionCase) -> None:
    """Written out in torch's own operators, attention runs anywhere."""


def _for_sdpa(case: AttentionCase) -> str | None:
    """Say where torch's kernel would not be a fused one, or not have all gradients.

    Torch then falls back, in silence, to a written-out form of its own, without our float32
    softmax.
    """
    if case.device == "meta":
        return "the meta device has no kernels, only shapes to count"
    if case.transformed:
        return "torch's fused kernels have no derivatives forwards, nor those that torch.func hides"
    if case.bias_learns and case.device != "cuda":
        return f"torch's fused kernel on {case.device} has no gradient for a bias"
    if case.bias_learns and case.compiled:
        return "traced, it would make a gradient of the bias for every window"
    if case.bias_learns and not case.tokens_learn:
        return (
            "with a gradient for the bias alone it reads memory that is not its own (torch#148476)"
        )
    return _for_sdpa_on_cuda(case) if case.device == "cuda" else None


def _for_sdpa_on_cuda(case: AttentionCase) -> str | None:
    """Say what torch's memory-efficient kernel, the one that takes a bias, does not."""
    if case.dtype not in _FUSED:
        return f"computes in float32, float16 and bfloat16, not {_name(case.dtype)}"
    step = 16 // case.dtype.itemsize
    if case.channels % step:
        return (
            f"wants heads of a multiple of {step} channels in {_name(case.dtype)}, "
            f"got {case.channels}"
        )
    if case.dtype == torch.bfloat16 and not _is_new_card():
        return "computes in bfloat16 on cards of compute capability 8.0 and later only"
    return None


def _for_triton(case: AttentionCase) -> str | None:
    """Say what our own kernels do not take."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if case.device != "cuda" and not (interpreted and case.device == "cpu"):
        return f"computes on CUDA, not on {case.device}"
    if importlib.util.find_spec("triton") is None:
        return "triton is not installed; torch's builds for CUDA bring it, else pip install triton"
    if case.compiled:
        return "is not for torch's compiler"
    if case.transformed:
        return "is not for torch.func, nor for derivatives forwards"
    if case.mask == "one a window":
        return "takes one mask for all windows, not one for each"
    if case.dropout:
        return "has no dropout"
    if case.dtype not in _FUSED:
        return f"computes in float32, float16 and bfloat16, not {_name(case.dtype)}"
    if case.tokens > 256 or case.channels > 64:
        return (
            "holds windows of up to 256 tokens and heads of up to 64 channels, "
            f"got {case.tokens} and {case.channels}"
        )
    if not (interpreted or _is_new_card()):
        return "is for cards of compute capability 8.0 and later"
    return None


def _is_new_card() -> bool:
    """Whether the card is of compute capability 8.0 or later, or none is there to ask."""
    return not torch.cuda.is_available() or torch.cuda.get_device_capability() >= (8, 0)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


OBSTACLES: dict[str, Callable[[AttentionCase], str | None]] = {
    "sdpa": _for_sdpa,
    "reference": _nothing,
    "triton": _for_triton,
}
"""What stands in each backend's way, in the order in which the report names them."""

AUTO: tuple[Name, ...] = ("sdpa", "reference")
"""What ``"auto"`` takes unasked, the best first; the last takes anything. No card has measured our
own kernels yet."""
