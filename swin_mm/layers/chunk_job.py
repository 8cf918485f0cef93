"""A block's windows, a few at a time, and what holds for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from swin_mm.ops.block import MapPlaces, WindowBatch
from swin_mm.ops.chunks import CHUNKS, Chunk, tokens_for
from swin_mm.ops.mask_cache import MASKS
from swin_mm.ops.products import asked_dtype, product_dtype
from swin_mm.ops.windows import WindowPlan

if TYPE_CHECKING:
    from swin_mm.layers.block import SwinBlock

Factors = tuple[Tensor, Tensor] | None
"""What stochastic depth multiplies each picture's two branches with, (B,) each."""


@dataclass(frozen=True)
class ChunkJob:
    """What a block has to do, but for tensors that have gradients.

    Attributes:
        plan: where the windows of each map lie.
        mask_padding: whether padded tokens are hidden.
        factors: of stochastic depth.
        dtype: what linear layers compute in, float32 where half precision is asked for and slower.
        recompute: keep the block's input alone for the backward pass.
    """

    plan: WindowPlan
    mask_padding: bool
    factors: Factors
    dtype: torch.dtype
    recompute: bool

    @classmethod
    def of(cls, block: SwinBlock, x: Tensor, factors: Factors) -> ChunkJob:
        attn = block.attn
        plan = WindowPlan.of(
            (x.shape[1], x.shape[2]),
            attn.w_msa.window_size,
            shifted=attn.shifted,
            small_maps=attn.small_maps,
        )
        dtype = product_dtype(asked_dtype(x), x.device)
        return cls(plan, attn.mask_padding, factors, dtype, block.with_cp)

    def chunks(self, x: Tensor) -> Iterator[tuple[slice, Chunk, WindowBatch]]:
        """Go through all windows of (B, H, W, C): the rows of some pictures, and windows there."""
        batch, area = x.shape[0], math.prod(x.shape[1:3])
        tokens = tokens_for(self.dtype)
        together = max(min(tokens // area, batch), 1)
        for first in range(0, batch, together):
            images = slice(first, min(first + together, batch))
            number = images.stop - images.start
            rows = slice(images.start * area, images.stop * area)
            for chunk in CHUNKS.chunks(
                self.plan, number, tokens=tokens, mask_padding=self.mask_padding
            ):
                yield rows, chunk, self._windows(chunk, x, images)

    def rows(self, x: Tensor) -> dict[str, int]:
        """Count the tokens of all windows of (B, H, W, C), with padding and without."""
        batch, height, width, _ = x.shape
        padded_height, padded_width = self.plan.padded_size
        return {"every": batch * padded_height * padded_width, "real": batch * height * width}

    def tables(self, chunk: Chunk, like: Tensor) -> list[tuple[int, Tensor | None]]:
        """Return the masks of a chunk's windows as compiled kernels take them."""
        window = self.plan.window
        return [(number, MASKS.table(region, window, like)) for number, region in chunk.regions]

    def _windows(self, chunk: Chunk, like: Tensor, images: slice) -> WindowBatch:
        """Say what holds for the windows of a chunk."""
        window, kept = self.plan.window, None
        number = math.prod(window)
        masks = [(windows, MASKS.mask(region, window, like)) for windows, region in chunk.regions]
        if self.factors is not None:
            of_tokens = chunk.images.repeat_interleave(number)
            if chunk.real is not None:
                of_tokens = of_tokens.index_select(0, chunk.real)
            kept = tuple(f[images].index_select(0, of_tokens)[:, None] for f in self.factors)
        return WindowBatch(
            number,
            masks,
            padding=chunk.padding,
            real=chunk.real,
            kept=kept,
            full=len(chunk.images) == tokens_for(self.dtype) // number,
            at=MapPlaces(chunk.sources, chunk.targets, chunk.places),
        )
