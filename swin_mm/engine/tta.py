"""Test-time augmentation of detectors, with masks too, which MMDetection's own refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from mmengine.model import BaseTTAModel
from torch import Tensor, nn

from swin_mm.registry import MODELS


@MODELS.register_module()
class InstanceTTAModel(BaseTTAModel):
    """Find the instances of a picture in several of its scales and flips, and merge them.

    Boxes of all views come together, and of those of one class that overlap the best alone stays
    (NMS), as in MMDetection's ``DetTTAModel``. A mask is put to the vote of the instances that
    its box stands for, weighted by their scores: a pixel belongs to it where more than half of
    the weight says so.

    Args:
        module: the detector, or its config.
        iou_threshold: boxes of one class that overlap more are one instance.
        max_per_img: at most so many instances stay, those of the highest scores.
        data_preprocessor: of the detector, where its config has none.

    Raises:
        ValueError: if the threshold is not between 0 and 1, or no instance may stay.
    """

    def __init__(
        self,
        module: dict | nn.Module,
        *,
        iou_threshold: float = 0.5,
        max_per_img: int = 100,
        data_preprocessor: dict | None = None,
    ) -> None:
        super().__init__(module, data_preprocessor=data_preprocessor)
        if not 0 < iou_threshold <= 1:
            raise ValueError(f"iou_threshold must be above 0 and at most 1, got {iou_threshold}")
        if max_per_img < 1:
            raise ValueError(f"max_per_img must be at least 1, got {max_per_img}")
        self.iou_threshold = iou_threshold
        self.max_per_img = max_per_img

    def test_step(self, data: dict[str, Any]) -> list[Any]:
        """Find the instances in all views and merge them.

        The detector is not told of flips, which are undone here: MMDetection's cascades would
        undo them too, and only for masks.

        Args:
            data: a batch by key, of each a list of the views.
        """
        for view in data["data_samples"]:
            for sample in view:
                flipped = sample.flip_direction if sample.metainfo.get("flip") else None
                sample.set_metainfo({"flip": False, "flipped": flipped})
        return super().test_step(data)

    def merge_preds(self, data_samples_list: Sequence[Sequence[Any]]) -> list[Any]:
        """Merge the views of each picture.

        Args:
            data_samples_list: MMDetection's samples, of each picture one a view, found in the
                pixels of the original picture as it was flipped.

        Returns:
            A sample a picture.
        """
        return [self._merge(views) for views in data_samples_list]

    def _merge(self, views: Sequence[Any]) -> Any:
        from mmcv.ops import batched_nms

        found = [_unflipped(view) for view in views]
        merged = type(found[0]).cat(found)
        if len(merged):
            boxes, kept = batched_nms(
                merged.bboxes,
                merged.scores,
                merged.labels,
                {"type": "nms", "iou_threshold": self.iou_threshold},
            )
            kept = kept[: self.max_per_img]
            best = merged[kept]
            best.scores = boxes[: self.max_per_img, 4]
            if "masks" in merged:
                best.masks = self._vote(merged, kept)
            merged = best
        sample = views[0].clone()
        sample.pred_instances = merged
        return sample

    def _vote(self, merged: Any, kept: Tensor) -> Tensor:
        """Return the masks of the kept instances, (K, H, W), by what each stands for."""
        from mmdet.structures.bbox import bbox_overlaps

        overlap = bbox_overlaps(merged.bboxes[kept], merged.bboxes)  # (K, N)
        same = (overlap > self.iou_threshold) & (merged.labels[kept, None] == merged.labels)
        same[torch.arange(len(kept)), kept] = True  # also a box without an area
        masks = []
        for alike in same:  # one by one: K x N masks of a large picture do not fit
            weights = merged.scores[alike].clamp_min(1e-12)
            votes = torch.einsum("n,nhw->hw", weights, merged.masks[alike].to(weights.dtype))
            masks.append(votes > weights.sum() / 2)
        return torch.stack(masks)


def _unflipped(view: Any) -> Any:
    """Return what was found in a view, in the pixels of the picture as it is."""
    found, direction = view.pred_instances.clone(), view.metainfo.get("flipped")
    if direction is None:
        return found
    from mmdet.structures.bbox import bbox_flip

    found.bboxes = bbox_flip(found.bboxes, view.ori_shape, direction)
    if "masks" in found:
        axes = {"horizontal": (-1,), "vertical": (-2,), "diagonal": (-2, -1)}[direction]
        found.masks = found.masks.flip(axes)
    return found
