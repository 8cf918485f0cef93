"""Attention within windows, written down in float64, and cases for its kernel."""

from dataclasses import dataclass

import torch
from kernel_tensors import drawn
from torch import Tensor

from swin_mm.ops.kernels import AttentionKernel
from swin_mm.ops.kernels.attention import padded_table


@dataclass
class Case:
    """Windows of N tokens, as their kernel takes them.

    Attributes:
        qkv: (n * N, 3 C), without ``given``, the bias of it.
        bias: (nH, N, N).
        cosine: (nH, 1, 1), or ``None``.
        masks: how many windows have which, True where tokens may look.
        places: row of each token in the result, -1 for none, or ``None``.
        scale: of products.
    """

    qkv: Tensor
    given: Tensor
    bias: Tensor
    cosine: Tensor | None
    masks: list[tuple[int, Tensor | None]]
    places: Tensor | None = None
    scale: float = 0.3

    @property
    def rows(self) -> int:
        """Of the result."""
        return len(self.qkv) if self.places is None else int(self.places.max()) + 1

    @property
    def tables(self) -> list[tuple[int, Tensor | None]]:
        """Masks as the kernel takes them."""
        return [
            (
                n,
                None
                if m is None
                else padded_table(torch.zeros(m.shape).masked_fill(~m, -torch.inf)),
            )
            for n, m in self.masks
        ]

    def kernel(self) -> AttentionKernel:
        """One of its own."""
        channels = self.qkv.shape[1] // 3 // len(self.bias)
        return AttentionKernel(
            self.given, self.bias, cosine_scale=self.cosine, scale=self.scale, channels=channels
        )

    def tensors(self) -> list[Tensor]:
        """What has a gradient, in float64: qkv, bias, given, and the cosines' scale."""
        learned = [self.qkv, self.bias, self.given, self.cosine]
        return [t.double().requires_grad_() for t in learned if t is not None]


def a_case(
    tokens: int, heads: int, channels: int, *, dtype=torch.float32, cosine=False, padded=False,
    windows=(2, 1, 2),
) -> Case:  # fmt: skip
    """Random windows: some without a mask, the others with two masks."""
    every = [None, *(torch.rand(2, tokens, tokens) > 0.4)]
    for mask in every[1:]:
        mask.fill_diagonal_(True)
    rows = sum(windows) * tokens
    places = None
    if padded:
        real = torch.rand(rows) > 0.3
        real[0] = True
        places = torch.full((rows,), -1)
        places[real] = torch.randperm(int(real.sum()))
    return Case(
        drawn(rows, 3 * heads * channels, dtype=dtype),
        drawn(3 * heads * channels),
        drawn(heads, tokens, tokens),
        torch.rand(heads, 1, 1) * 5 + 1 if cosine else None,
        list(zip(windows, every, strict=False)),
        places,
    )


def exact_attention(case: Case, tensors: list[Tensor]) -> Tensor:
    """What it is, in float64, (rows, C), differentiable in :meth:`Case.tensors`."""
    qkv, bias, given, *cosine = tensors
    heads, tokens, _ = bias.shape
    q, k, v = (
        part.view(-1, tokens, heads, part.shape[1] // heads).transpose(1, 2)
        for part in (qkv + given).chunk(3, dim=1)
    )
    scores = cosine[0] * (unit(q) @ unit(k).mT) if cosine else case.scale * q @ k.mT
    all_seen = torch.ones(tokens, tokens, dtype=torch.bool)
    seen = torch.cat([(all_seen if m is None else m).expand(n, -1, -1) for n, m in case.masks])
    scores = (scores + bias).masked_fill(~seen[:, None], -torch.inf)
    attended = (scores.softmax(-1) @ v).transpose(1, 2).reshape(len(qkv), -1)
    if case.places is None:
        return attended
    real = case.places >= 0
    return attended.new_zeros(case.rows, attended.shape[1]).index_copy(
        0, case.places[real], attended[real]
    )


def unit(x: Tensor) -> Tensor:
    """Vectors of length 1, zeros as they are."""
    squares = x.square().sum(-1, keepdim=True)
    return x / squares.where(squares > 1e-24, 1.0).sqrt()
