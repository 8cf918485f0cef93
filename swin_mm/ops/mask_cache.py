"""Masks that are built once and kept, so that no block of any forward pass builds one anew."""

from __future__ import annotations

import threading
from collections import OrderedDict

import torch
from torch import Tensor

from swin_mm.ops.masks import Region

LIMIT = 16 * 2**20
"""Bytes that all kept masks may take; a mask of 7 x 7 tokens takes 2401."""

_Key = tuple[tuple, tuple[int, int], torch.device]


class MaskCache:
    """Masks by kind of region, window and device, the least recently used given up first.

    A mask depends on numbers alone, so nothing that is kept can grow stale. Safe under threads.

    Args:
        limit: bytes that all masks together may take.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.size = 0
        self._masks: OrderedDict[_Key, Tensor | None] = OrderedDict()
        self._lock = threading.Lock()

    def mask(self, region: Region, window: tuple[int, int], like: Tensor) -> Tensor | None:
        """Return a region's mask, on the device of a tensor; see :meth:`Region.mask`.

        Tensors that only pretend (fake ones, of tracers) get a mask of their own, never a kept one.
        """
        if type(like) is not Tensor:
            return region.mask(window, like.device)
        key = (region.kind, window, like.device)
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        with torch.inference_mode(False):  # a mask made there could not serve training later
            mask = region.mask(window, like.device)
        with self._lock:
            if key not in self._masks:
                self._masks[key] = mask
                self.size += _bytes(mask)
            while self.size > self.limit:
                self.size -= _bytes(self._masks.popitem(last=False)[1])
        return mask


def _bytes(mask: Tensor | None) -> int:
    return 0 if mask is None else mask.nbytes


MASKS = MaskCache()
