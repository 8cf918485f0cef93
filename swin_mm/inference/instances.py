"""The instances of a picture, apart from any host: boxes, labels, scores, masks if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from swin_mm.inference.cutouts import Cutout
from swin_mm.inference.errors import InferenceError


@dataclass(frozen=True)
class Instances:
    """What was found in a picture, or in a tile of one.

    Attributes:
        height: of the picture, px.
        width: of the picture, px.
        boxes: (n, 4) float64, left, top, right, bottom, px of the picture.
        labels: (n,) int.
        scores: (n,) float64.
        masks: n of them, `None` if the model finds none.
    """

    height: int
    width: int
    boxes: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    masks: tuple[Cutout, ...] | None

    @classmethod
    def of(cls, sample: Any, *, size: tuple[int, int], left: int = 0, top: int = 0) -> Instances:
        """Take what a host's data sample holds.

        Args:
            sample: with `pred_instances`, on the CPU.
            size: height and width of the picture, px.
            left: where the tile that was looked at begins, px.
            top: likewise.

        Raises:
            InferenceError: if the model gave no instances.
        """
        if "pred_instances" not in sample:
            raise InferenceError("a detector must give pred_instances, this one did not")
        found = sample.pred_instances.numpy()
        boxes = found.bboxes.astype(float).reshape(-1, 4) + np.array([left, top, left, top])
        masks = None
        if "masks" in found:
            masks = tuple(Cutout.of(mask, left=left, top=top) for mask in found.masks.astype(bool))
        labels, scores = found.labels.astype(int), found.scores.astype(float)
        return cls(*size, boxes, labels, scores, masks)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.labels)

    def pick(self, numbers: Sequence[int] | np.ndarray) -> Instances:
        """Take some, in the order given."""
        numbers = np.asarray(numbers, int)
        masks = None if self.masks is None else tuple(self.masks[number] for number in numbers)
        return Instances(
            self.height,
            self.width,
            self.boxes[numbers],
            self.labels[numbers],
            self.scores[numbers],
            masks,
        )

    def with_labels(self, labels: Sequence[int]) -> Instances:
        """Keep those of some classes."""
        return self.pick(np.flatnonzero(np.isin(self.labels, labels)))


def gather(parts: Sequence[Instances]) -> Instances:
    """Put the instances of parts of one picture in a row; at least one part."""
    masks: tuple[Cutout, ...] | None = None
    if all(part.masks is not None for part in parts):
        masks = tuple(mask for part in parts for mask in part.masks or ())
    return Instances(
        parts[0].height,
        parts[0].width,
        np.concatenate([part.boxes for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.scores for part in parts]),
        masks,
    )
