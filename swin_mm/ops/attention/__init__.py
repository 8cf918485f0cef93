"""One function, several backends, all equal to the written-out one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from swin_mm.ops.attention.choice import (
    AttentionCase,
    choose,
    prefer_attention,
    preferred_attention,
)
from swin_mm.ops.attention.cosine import scaled_cosines
from swin_mm.ops.attention.reference import reference_attention
from swin_mm.ops.attention.report import AttentionReport, attention_report
from swin_mm.ops.attention.sdpa import sdpa_attention
from swin_mm.ops.attention.triton_backend import triton_attention

__all__ = [
    "AttentionCase",
    "AttentionReport",
    "Backend",
    "attend_in_parts",
    "attention_report",
    "choose_backend",
    "prefer_attention",
    "preferred_attention",
    "reference_attention",
    "scaled_cosines",
    "sdpa_attention",
    "triton_attention",
    "window_attention",
]

Backend = Literal["auto", "reference", "sdpa", "triton"]

BACKENDS: dict[str, Callable[..., Tensor]] = {
    "reference": reference_attention,
    "sdpa": sdpa_attention,
    "triton": triton_attention,
}


def choose_backend(
    q: Tensor,
    bias: Tensor | None,
    *,
    k: Tensor | None = None,
    v: Tensor | None = None,
    mask: Tensor | None = None,
    dropout: float = 0.0,
) -> str:
    """Say which backend ``"auto"`` takes for arguments of :func:`window_attention`."""
    return choose(AttentionCase.of(q, bias, k=k, v=v, mask=mask, dropout=dropout))


def window_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    backend: Backend = "auto",
) -> Tensor:
    """Let the tokens of each window look at each other.

    Args:
        q: queries, (windows, nH, N, d), any strides.
        k: keys, like q.
        v: values, like q; of a narrower dtype where queries and keys were widened.
        bias: added to the scaled scores of every window, (nH, N, N).
        mask: True where attention is allowed, queries by keys, (N, N) or one a window,
            (windows, 1, N, N). Every query needs a key.
        scale: factor of the scores; d ** -0.5 where it is not given.
        dropout: share of the attention weights to drop.
        backend: ``"reference"``, ``"sdpa"``, ``"triton"``, or the best one for these arguments; see
            :func:`swin_mm.attention_report`.

    Returns:
        (windows, nH, N, d), of the values' dtype.

    Raises:
        ValueError: if the backend has another name, or is ``"triton"`` and cannot run.
    """
    if backend == "auto":
        backend = choose_backend(q, bias, k=k, v=v, mask=mask, dropout=dropout)
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {get_args(Backend)}, got {backend!r}")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return BACKENDS[backend](q, k, v, bias=bias, mask=mask, scale=scale, dropout=dropout)


def attend_in_parts(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None,
    masks: Sequence[tuple[int, Tensor | None]],
    scale: float,
    dropout: float,
) -> Tensor:
    """Let windows attend that do not all have the same mask, without one mask for each.

    Args:
        q: queries, (windows, nH, N, d); k and v alike.
        k: keys.
        v: values.
        bias: added to all scores, (nH, N, N).
        masks: how many windows, in their order, have which mask, as for
            :func:`window_attention`; ``None`` where everything is allowed.
        scale: factor of the scores.
        dropout: share of the attention weights to drop.

    Returns:
        (windows, nH, N, d).
    """
    if len(masks) == 1:
        return window_attention(q, k, v, bias=bias, mask=masks[0][1], scale=scale, dropout=dropout)
    sizes = [number for number, _ in masks]
    parts = [
        window_attention(*qkv, bias=bias, mask=mask, scale=scale, dropout=dropout)
        for (_, mask), *qkv in zip(
            masks, q.split(sizes), k.split(sizes), v.split(sizes), strict=True
        )
    ]
    # Joined as the kernel lays them out, heads inside tokens, so that none is copied again.
    return torch.cat([part.transpose(1, 2) for part in parts]).transpose(1, 2)
