"""Masks that are built once and kept, so that no block of any forward pass builds one anew."""

from __future__ import annotations

import torch
from torch import Tensor

from swin_mm.ops.cache import BoundedCache
from swin_mm.ops.calls import is_recorded, is_transformed
from swin_mm.ops.kernels.attention import lanes, padded_table
from swin_mm.ops.masks import Region

LIMIT = 16 * 2**20
"""Bytes that all kept masks may take; a mask of 7 x 7 tokens takes 2401."""


class MaskCache:
    """Masks by kind of region, window and device.

    A mask depends on numbers alone, so nothing that is kept can grow stale.

    Args:
        limit: bytes that all masks together may take.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._cache = BoundedCache(limit)

    @property
    def limit(self) -> int:
        """Bytes that all masks together may take."""
        return self._cache.limit

    @property
    def size(self) -> int:
        """Bytes that they take."""
        return self._cache.size

    def mask(self, region: Region, window: tuple[int, int], like: Tensor) -> Tensor | None:
        """Return a region's mask, on the device of a tensor; see :meth:`Region.mask`.

        Tensors that only pretend (fake ones, of tracers) get a mask of their own, never a kept one;
        and so does torch.func, in which tensors are made for one of its calls alone, and
        TorchScript's tracer, which would write a mask down as it was made in one trace and as a
        constant in the next, and then refuse the two as different networks. A CUDA graph makes its
        own at every replay: one kept would be filled by the first of them, and one of ours might be
        given up while the graph still reads it.
        """
        if (
            type(like) is not Tensor
            or is_transformed(like)
            or torch.jit.is_tracing()
            or is_recorded(like)
        ):
            return region.mask(window, like.device)

        def make() -> tuple[Tensor | None, int]:
            with torch.inference_mode(False):  # a mask made there could not serve training later
                mask = region.mask(window, like.device)
            return mask, 0 if mask is None else mask.nbytes

        return self._cache.get((region.kind, window, like.device), make)

    def table(self, region: Region, window: tuple[int, int], like: Tensor) -> Tensor | None:
        """Return a region's mask on the CPU as compiled kernels add it to scores: zeros and -inf.

        See :func:`swin_mm.ops.kernels.padded_table`.
        """

        def make() -> tuple[Tensor | None, int]:
            mask = self.mask(region, window, like)
            if mask is None:
                return None, 0
            with torch.inference_mode(False):
                zeros = torch.zeros(mask.shape, device=mask.device)
                table = padded_table(zeros.masked_fill_(~mask, float("-inf")))
            return table, table.nbytes

        return self._cache.get((region.kind, window, lanes()), make)


MASKS = MaskCache()
