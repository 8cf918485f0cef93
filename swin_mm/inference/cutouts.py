"""The mask of one instance, kept as the part of the picture that holds it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Cutout:
    """A mask in its bounding box; a whole one of a large picture would fill the memory.

    Attributes:
        left: of the box, px of the picture.
        top: of the box, px of the picture.
        height: of the box, px.
        width: of the box, px; both are 0 if the mask is empty.
        packed: the pixels, eight a byte, compressed.
    """

    left: int
    top: int
    height: int
    width: int
    packed: bytes

    @classmethod
    def of(cls, mask: np.ndarray, *, left: int = 0, top: int = 0) -> Cutout:
        """Cut a mask out.

        Args:
            mask: (H, W) bool, of a picture or of a part of one.
            left: where the part begins in the picture, px.
            top: likewise.
        """
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        if not rows.size:
            return cls(left, top, 0, 0, b"")
        inside = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        packed = zlib.compress(np.packbits(inside).tobytes(), 1)
        return cls(left + int(columns[0]), top + int(rows[0]), *inside.shape, packed)

    @property
    def right(self) -> int:
        """One past the last column."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """One past the last row."""
        return self.top + self.height

    def pixels(self) -> np.ndarray:
        """The mask in its box, (height, width) bool."""
        if not self.packed:
            return np.zeros((self.height, self.width), bool)
        bits = np.frombuffer(zlib.decompress(self.packed), np.uint8)
        flat = np.unpackbits(bits, count=self.height * self.width)
        return flat.reshape(self.height, self.width).astype(bool)

    def within(self, left: int, top: int, right: int, bottom: int) -> np.ndarray:
        """The mask in a box of the picture, (bottom - top, right - left) bool."""
        window = np.zeros((bottom - top, right - left), bool)
        x0, y0 = max(left, self.left), max(top, self.top)
        x1, y1 = min(right, self.right), min(bottom, self.bottom)
        if x0 < x1 and y0 < y1:
            part = self.pixels()[y0 - self.top : y1 - self.top, x0 - self.left : x1 - self.left]
            window[y0 - top : y1 - top, x0 - left : x1 - left] = part
        return window

    def joined(self, others: list[Cutout]) -> Cutout:
        """The union of masks; an empty one adds nothing."""
        masks = [mask for mask in (self, *others) if mask.height]
        if not masks:
            return replace(self)
        left, top = min(mask.left for mask in masks), min(mask.top for mask in masks)
        right, bottom = max(mask.right for mask in masks), max(mask.bottom for mask in masks)
        union = np.zeros((bottom - top, right - left), bool)
        for mask in masks:
            place = union[mask.top - top : mask.bottom - top, mask.left - left : mask.right - left]
            place |= mask.pixels()
        return Cutout.of(union, left=left, top=top)

    def rle(self, height: int, width: int) -> dict[str, Any]:
        """Write the mask in the whole picture as COCO's compressed RLE, which runs down columns.

        Args:
            height: of the picture, px.
            width: of the picture, px.
        """
        from pycocotools import mask as coco_mask

        columns = np.pad(self.pixels().T, ((0, 0), (1, 1))).astype(np.int8)
        steps = np.diff(columns, axis=1)
        column, row = np.nonzero(steps)  # begins and ends take turns, column by column
        edges = (column + self.left) * height + row + self.top
        # What ends at the foot of one column and begins at the head of the next goes on.
        stays = np.flatnonzero(edges[1:] == edges[:-1])
        edges = np.delete(edges, [*stays, *(stays + 1)])
        counts = np.diff(edges, prepend=0, append=height * width).tolist()
        if len(counts) > 1 and counts[-1] == 0:  # the mask ends where the picture does
            counts.pop()
        rle = coco_mask.frPyObjects({"size": [height, width], "counts": counts}, height, width)
        return {"size": [height, width], "counts": rle["counts"].decode()}
