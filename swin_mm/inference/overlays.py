"""Predictions drawn over their picture, by the host's own visualizer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from mmengine.config import Config
from mmengine.registry import VISUALIZERS
from mmengine.visualization import Visualizer

from swin_mm.inference.classes import Classes
from swin_mm.inference.registered import find_class

_LEAST_SHARE = 0.001  # of the picture, for a class to be named in the legend


class Overlay:
    """Draws what was found over a picture.

    Args:
        cfg: whose visualizer draws; without its backends, which would store every picture again.
        classes: names and colours.
        score_threshold: instances that are less sure are not drawn.
    """

    def __init__(self, cfg: Config, classes: Classes, *, score_threshold: float) -> None:
        self.classes = classes
        self.score_threshold = score_threshold
        settings = dict(cfg.visualizer)
        kind = settings.pop("type")
        settings |= {"vis_backends": None, "name": "overlay"}
        settings.setdefault("alpha", 0.5)  # the hosts' own 0.8 leaves little of the picture
        # Not by build(): it would hand out the visualizer of that name that a test drew with.
        self._visualizer = find_class(cfg, VISUALIZERS, kind)(**settings)
        self._visualizer.dataset_meta = {
            "classes": list(classes.names),
            "palette": list(classes.colours),
        }

    def draw(self, picture: np.ndarray, sample: Any) -> np.ndarray:
        """Draw what a model found.

        Args:
            picture: (H, W, 3) uint8 BGR, or (H, W) gray.
            sample: the host's data sample.

        Returns:
            (H + legend, W, 3) uint8 RGB: labelled pixels bring a legend along, instances bear
            their names.
        """
        picture = picture if picture.ndim == 3 else picture[..., None].repeat(3, axis=-1)
        picture = np.ascontiguousarray(picture[..., 2::-1])
        is_segmentation = "pred_sem_seg" in sample
        if is_segmentation:
            sample = sample.numpy()  # the segmentor's stumbles over a tensor of one pixel
        # The segmentor's names take minutes on large pictures, and hide small regions.
        options: Mapping[str, Any] = (
            {"with_labels": False} if is_segmentation else {"pred_score_thr": self.score_threshold}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of boxes that end on the border
            self._visualizer.add_datasample(
                "overlay", picture, data_sample=sample, draw_gt=False, **options
            )
        drawn = self._visualizer.get_image()
        if not is_segmentation:
            return drawn
        labels = sample.pred_sem_seg.data.squeeze(0)
        return np.concatenate([drawn, _legend(labels, self.classes, drawn.shape[1])])


def _legend(labels: np.ndarray, classes: Classes, width: int) -> np.ndarray:
    """Write which colour is what, the largest first, on white below a picture of that width."""
    counts = np.bincount(labels.flatten(), minlength=len(classes.names))
    shares = {int(label): counts[label] / labels.size for label in np.argsort(-counts)}
    shown = [label for label, share in shares.items() if share >= _LEAST_SHARE]
    texts = [f"{classes.names[label]}  {shares[label]:.1%}" for label in shown]
    size = min(max(width / 32, 8), 28)  # px, height of a line's letters
    line, column = round(1.7 * size), max(size * (3 + 0.62 * max(map(len, texts))), 1)
    columns = max(int(width / column), 1)
    page = np.full((line * -(-len(shown) // columns) + line // 2, width, 3), 255, np.uint8)
    painter = Visualizer(image=page)
    for number, (label, text) in enumerate(zip(shown, texts, strict=True)):
        row, place = divmod(number, columns)
        left, top = place * width / columns + 0.4 * size, row * line + 0.5 * size
        corners = np.array([left, top, left + size, top + size])
        painter.draw_bboxes(
            corners, face_colors=classes.colours[label], edge_colors="k", line_widths=1, alpha=1
        )
        painter.draw_texts(
            text,
            np.array([left + 1.6 * size, top + size / 2]),
            font_sizes=0.72 * size,
            vertical_alignments="center",
            colors="k",
        )
    return painter.get_image()
