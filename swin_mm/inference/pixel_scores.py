"""The scores of a picture's pixels, brought to its size a few rows at a time.

All scores of a picture of 12 million pixels and 150 classes are 7 GB; as the network computes
them, before they are resized, a hundredth of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

_HELD = 2**24  # scores that are held at once: 64 MB


@dataclass(frozen=True)
class PixelScores:
    """What a segmentor says of every pixel, in one view of the picture or in several.

    Attributes:
        views: of each (C, h, w) float, logits in any size, the right way round.
        height: of the picture, px.
        width: of the picture, px.
        align_corners: how the segmentor resizes.
        averaged: whether the views are averaged as probabilities, as in test-time augmentation;
            there is one view otherwise, of logits.
    """

    views: Sequence[Tensor]
    height: int
    width: int
    align_corners: bool
    averaged: bool

    @property
    def classes(self) -> int:
        """How many scores a pixel has; 1 where there are two classes and one threshold."""
        return self.views[0].shape[0]

    def rows(self, top: int, bottom: int) -> Tensor:
        """Resize to the rows of the picture from `top` to before `bottom`, (C, rows, W)."""
        if not self.averaged:
            return self._resized(self.views[0], top, bottom)
        total: Tensor | None = None
        for view in self.views:
            scores = self._resized(view, top, bottom)
            shares = scores.softmax(0) if self.classes > 1 else scores.sigmoid()
            total = shares if total is None else total.add_(shares)
        assert total is not None
        return total.div_(len(self.views))

    def _resized(self, view: Tensor, top: int, bottom: int) -> Tensor:
        """Interpolate as `torch.nn.functional.interpolate` would the whole, bilinear."""
        height, width = view.shape[-2:]
        wanted = torch.arange(top, bottom, device=view.device, dtype=torch.float32)
        if self.align_corners:
            at = wanted * ((height - 1) / max(self.height - 1, 1))
        else:
            at = ((wanted + 0.5) * (height / self.height) - 0.5).clamp_min(0)
        above = at.long().clamp_max(height - 1)
        below = (above + 1).clamp_max(height - 1)
        share = (at - above)[:, None].to(view.dtype)
        rows = torch.lerp(view[:, above], view[:, below], share)
        if width == self.width:
            return rows
        size = (len(wanted), self.width)
        return functional.interpolate(
            rows[None], size, mode="bilinear", align_corners=self.align_corners
        )[0]


def bands(top: int, bottom: int, *, row: int) -> Iterator[tuple[int, int]]:
    """Divide rows into bands of bounded size.

    Args:
        top: the first row.
        bottom: one past the last.
        row: scores in a row.
    """
    step = max(_HELD // max(row, 1), 1)
    for start in range(top, bottom, step):
        yield start, min(start + step, bottom)
