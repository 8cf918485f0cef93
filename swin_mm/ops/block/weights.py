"""What a block has learned, as plain tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor


class NormWeights(NamedTuple):
    """A LayerNorm over C channels."""

    weight: Tensor | None
    bias: Tensor | None
    eps: float


class LinearWeights(NamedTuple):
    """A linear layer, (out, in) and (out,)."""

    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class BlockWeights:
    """A block of attention and FFN.

    Attributes:
        norm1: of the attention's branch.
        qkv: makes queries, keys and values, C to 3 C.
        proj: after the attention, C to C.
        norm2: of the FFN's branch.
        fc1: the FFN's first layer, C to its hidden channels; GELU follows.
        fc2: its second, back to C.
        bias: added to the scores, (nH, N, N).
        cosine_scale: factor of each head's cosines, (nH, 1, 1), where attention is by cosine
            (Liu et al. 2022, eq. 2); ``None`` for scaled products (Liu et al. 2021, eq. 4).
        scale: factor of those products.
        post_norm: norm what a branch gives rather than what it takes.
    """

    norm1: NormWeights
    qkv: LinearWeights
    proj: LinearWeights
    norm2: NormWeights
    fc1: LinearWeights
    fc2: LinearWeights
    bias: Tensor
    cosine_scale: Tensor | None
    scale: float
    post_norm: bool

    @property
    def num_heads(self) -> int:
        """Heads of the attention, nH."""
        return self.bias.shape[0]

    def tensors(self) -> list[Tensor | None]:
        """All of them, in an order of their own."""
        pairs = (self.norm1, self.qkv, self.proj, self.norm2, self.fc1, self.fc2)
        return [*(tensor for pair in pairs for tensor in pair[:2]), self.bias, self.cosine_scale]

    def with_tensors(self, tensors: Sequence[Tensor | None]) -> BlockWeights:
        """Put other tensors in their places, in the same order."""
        *pairs, bias, cosine_scale = tensors
        at = iter(pairs)
        return replace(
            self,
            norm1=_norm(at, self.norm1.eps),
            qkv=LinearWeights(next(at), next(at)),
            proj=LinearWeights(next(at), next(at)),
            norm2=_norm(at, self.norm2.eps),
            fc1=LinearWeights(next(at), next(at)),
            fc2=LinearWeights(next(at), next(at)),
            bias=bias,
            cosine_scale=cosine_scale,
        )

    def computing_in(self, dtype: torch.dtype) -> BlockWeights:
        """Cast the linear layers once for all windows, as autocast would for each product.

        The norms too where they would be narrower: torch norms half precision by float32's weights,
        and not the other way round.
        """
        if self.qkv.weight.dtype == dtype:
            return self
        layers = {name: getattr(self, name) for name in ("qkv", "proj", "fc1", "fc2")}
        cast = {
            name: LinearWeights(*(None if t is None else t.to(dtype) for t in layer))
            for name, layer in layers.items()
        }
        for name in ("norm1", "norm2"):
            norm = getattr(self, name)
            if norm.weight is not None and norm.weight.dtype.itemsize < dtype.itemsize:
                cast[name] = _norm((None if t is None else t.to(dtype) for t in norm[:2]), norm.eps)
        return replace(self, **cast)


def _norm(tensors: Iterator[Tensor | None], eps: float) -> NormWeights:
    return NormWeights(next(tensors), next(tensors), eps)
