"""A map's windows, a few at a time: which tokens of the map they hold.

Attention and FFN are both local to a window, so a whole block can run on a few windows at once,
small enough to stay in a processor's cache. Windows are taken region by region
(:mod:`swin_mm.ops.masks`), so that those which share a mask stand together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from swin_mm.ops.cache import BoundedCache
from swin_mm.ops.masks import Region, regions
from swin_mm.ops.windows import WindowPlan

BYTES = 16384
"""Bytes of one channel of a chunk: 4096 tokens in float32, 8192 in half precision.

In float32 a half or the double of it is as fast. Half precision gains from more tokens at once.
"""


def tokens_for(dtype: torch.dtype) -> int:
    """Say how many tokens a chunk has, about, of a dtype to compute in."""
    return BYTES // dtype.itemsize


@dataclass(frozen=True)
class Chunk:
    """Some windows of a few maps of one size.

    Attributes:
        tokens: where each token is in the maps, one row after the other, (n * N,); padding says 0.
        regions: how many windows of each region stand after each other, n in all.
        images: which of the maps each window is from, (n,).
        padding: places in ``tokens`` that are padding, ``None`` where there are none.
        real: the other places, ``None`` where that is all of them.
        targets: where the real tokens are in the maps; ``tokens`` where all are real.
        sources: ``tokens`` with -1 at padding.
        places: which of the real tokens each one is, -1 at padding, ``None`` where all are real.
    """

    tokens: Tensor
    images: Tensor
    regions: tuple[tuple[int, Region], ...]
    targets: Tensor
    sources: Tensor
    padding: Tensor | None = None
    real: Tensor | None = None
    places: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Memory of its tensors."""
        held = [self.tokens, self.images]
        if self.real is not None:
            held += [self.padding, self.real, self.targets, self.sources, self.places]
        return sum(tensor.nbytes for tensor in held)


def chunks_of(
    plan: WindowPlan, images: int, *, tokens: int, mask_padding: bool = False
) -> list[Chunk]:
    """Divide the windows of some maps into chunks.

    Args:
        plan: where the windows of each map lie.
        images: maps after each other.
        tokens: of a chunk at most, if a window has no more.
        mask_padding: whether padding is hidden, which changes the regions.
    """
    side = math.prod(plan.window)
    most = max(tokens // side, 1)
    index = _tokens_by_window(plan)  # (rows, columns, N)
    ordered, origins, owners = [], [], []
    offsets = torch.arange(images, device="cpu") * math.prod(plan.size)
    for row in regions(plan, mask_padding=mask_padding):
        for region in row:
            part = index[
                region.rows.start : region.rows.stop, region.columns.start : region.columns.stop
            ].reshape(1, -1, side)
            origins.append(torch.arange(images, device="cpu").repeat_interleave(part.shape[1]))
            part = torch.where(part < 0, part, part + offsets[:, None, None]).flatten(0, 1)
            ordered.append(part)
            owners.append((len(part), region))
    order, origin = torch.cat(ordered), torch.cat(origins)
    starts = range(0, len(order), most)
    return [
        _chunk(order[at : at + most], origin[at : at + most], _within(owners, at, at + most))
        for at in starts
    ]


def _tokens_by_window(plan: WindowPlan) -> Tensor:
    """Number the map's tokens window by window, (rows, columns, N); padding is -1."""
    (height, width), (mh, mw), (rows, columns) = plan.size, plan.window, plan.counts
    index = torch.full(plan.padded_size, -1, device="cpu")  # whatever the default device
    index[:height, :width] = torch.arange(height * width, device="cpu").view(height, width)
    index = index.roll((-plan.shift[0], -plan.shift[1]), dims=(0, 1))
    return index.view(rows, mh, columns, mw).transpose(1, 2).reshape(rows, columns, mh * mw)


def _within(
    owners: list[tuple[int, Region]], start: int, stop: int
) -> tuple[tuple[int, Region], ...]:
    """Which regions, and how many windows of each, lie between two windows."""
    found, at = [], 0
    for number, region in owners:
        inside = min(at + number, stop) - max(at, start)
        if inside > 0:
            found.append((inside, region))
        at += number
    return tuple(found)


def _chunk(tokens: Tensor, images: Tensor, owners: tuple[tuple[int, Region], ...]) -> Chunk:
    flat = tokens.flatten().clone()
    is_padding = flat < 0
    if not is_padding.any():
        return Chunk(flat, images.clone(), owners, targets=flat, sources=flat)
    padding, real = is_padding.nonzero()[:, 0], (~is_padding).nonzero()[:, 0]
    return Chunk(
        flat.clamp(min=0),
        images.clone(),
        owners,
        targets=flat.index_select(0, real),
        sources=flat,
        places=torch.where(is_padding, -1, (~is_padding).cumsum(0) - 1),
        padding=padding,
        real=real,
    )


class ChunkCache:
    """Chunks by what they depend on, numbers alone, so that nothing kept can grow stale.

    Args:
        limit: bytes that all of them may take.
    """

    def __init__(self, limit: int = 16 * 2**20) -> None:
        self._cache = BoundedCache(limit)

    @property
    def size(self) -> int:
        """Bytes that they take."""
        return self._cache.size

    def chunks(
        self, plan: WindowPlan, images: int, *, tokens: int, mask_padding: bool
    ) -> list[Chunk]:
        """Return what :func:`chunks_of` gives."""

        def make() -> tuple[list[Chunk], int]:
            with torch.inference_mode(False):  # an index made there could not serve training
                made = chunks_of(plan, images, tokens=tokens, mask_padding=mask_padding)
            return made, sum(chunk.nbytes for chunk in made)

        return self._cache.get((plan, images, tokens, mask_padding), make)


CHUNKS = ChunkCache()
