"""Predictions drawn over their picture."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.font_manager import findfont
from mmengine.config import Config
from mmengine.registry import VISUALIZERS
from PIL import Image, ImageDraw, ImageFont

from swin_mm.inference.classes import Classes
from swin_mm.inference.instances import Instances
from swin_mm.inference.legends import legend_below
from swin_mm.inference.registered import find_class

_SEEN = 0.5  # how much of a picture the colour of a class covers, where the config says nothing


class Overlay:
    """Draws what was found over a picture: instances by the host's visualizer, if not too large.

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
        # The hosts' own 0.8 leaves little of the picture.
        self._alpha = settings.setdefault("alpha", _SEEN)
        # Not by build(): it would hand out the visualizer of that name that a test drew with.
        self._visualizer = find_class(cfg, VISUALIZERS, kind)(**settings)
        self._visualizer.dataset_meta = {
            "classes": list(classes.names),
            "palette": list(classes.colours),
        }
        self._colours = np.array(classes.colours, np.uint8)

    def draw_sample(self, picture: np.ndarray, sample: Any) -> np.ndarray:
        """Draw a detector's data sample as the host does.

        Args:
            picture: (H, W, 3) uint8 BGR, or (H, W) gray.
            sample: the host's.

        Returns:
            (H, W, 3) uint8 RGB.
        """
        picture = _rgb(picture)
        with warnings.catch_warnings(), rc_context({"text.parse_math": False}):
            warnings.simplefilter("ignore")  # of boxes that end on the border
            self._visualizer.add_datasample(
                "overlay",
                picture,
                data_sample=sample,
                draw_gt=False,
                pred_score_thr=self.score_threshold,
            )
        return self._visualizer.get_image()

    def draw_instances(self, picture: np.ndarray, found: Instances, *, side: int) -> np.ndarray:
        """Draw instances over a picture that is too large for the host's visualizer.

        Args:
            picture: (H, W, 3) uint8 BGR, or (H, W) gray.
            found: in it.
            side: px, the longer side of what is drawn, at most.

        Returns:
            (h, w, 3) uint8 RGB.
        """
        canvas = _rgb(_shrunk(picture, side))
        found = found.pick(np.flatnonzero(found.scores >= self.score_threshold)[::-1])
        scale = np.array([canvas.shape[1] / found.width, canvas.shape[0] / found.height])
        boxes = found.boxes * np.tile(scale, 2)
        for label, mask in zip(found.labels, found.masks or (), strict=False):
            self._paint(
                canvas, mask.pixels(), np.array([mask.left, mask.top]) * scale, scale, label
            )
        image = Image.fromarray(canvas)
        pen = ImageDraw.Draw(image)
        size = min(max(max(canvas.shape) / 160, 8), 22)  # px of letters
        font = ImageFont.truetype(findfont("DejaVu Sans"), size)
        for box, label, score in zip(boxes, found.labels, found.scores, strict=True):
            colour, text = self.classes.colours[label], self.classes.names[label]
            pen.rectangle(tuple(box), outline=colour, width=max(round(size / 8), 1))
            place, text = (box[0], max(box[1], 0)), f"{text}: {100 * score:.1f}"
            pen.rectangle(pen.textbbox(place, text, font), fill="black")
            pen.text(place, text, "white", font)
        return np.asarray(image)

    def draw_labels(
        self, picture: np.ndarray, labels: np.ndarray, *, side: int = 0, legend: bool = True
    ) -> np.ndarray:
        """Colour labelled pixels; those of no class that is kept stay as they are.

        Args:
            picture: (H, W, 3) uint8 BGR, or (H, W) gray.
            labels: (H, W).
            side: px, the longer side of what is drawn, at most; 0 for the picture's own.
            legend: write the classes that occur below the picture.

        Returns:
            (h + legend, w, 3) uint8 RGB.
        """
        import cv2

        picture = _rgb(_shrunk(picture, side))
        labels = _shrunk(labels, side, nearest=True)
        known = labels < len(self._colours)
        colours = self._colours[np.where(known, labels, 0)]
        mixed = cv2.addWeighted(picture, 1 - self._alpha, colours, self._alpha, 0)
        mixed = np.where(known[..., None], mixed.reshape(picture.shape), picture)
        if not legend:
            return mixed
        return np.concatenate([mixed, legend_below(labels, self.classes, mixed.shape[1])])

    def _paint(
        self, canvas: np.ndarray, mask: np.ndarray, place: np.ndarray, scale: np.ndarray, label: int
    ) -> None:
        """Colour a mask whose left and top lie at `place`, px of the canvas."""
        import cv2

        (width, height), (left, top) = np.ceil(mask.shape[::-1] * scale).astype(int), place.round()
        window = canvas[int(top) : int(top) + height, int(left) : int(left) + width]
        if not window.size:
            return
        small = cv2.resize(mask.astype(np.uint8) * 255, (int(width), int(height)),
                           interpolation=cv2.INTER_AREA)  # fmt: skip
        inside = small[: window.shape[0], : window.shape[1]] > 127
        colour = self._alpha * self._colours[label]
        window[inside] = ((1 - self._alpha) * window[inside] + colour).astype(np.uint8)


def _rgb(picture: np.ndarray) -> np.ndarray:
    """Turn BGR or gray into RGB, in an order that painters take."""
    picture = picture if picture.ndim == 3 else picture[..., None].repeat(3, axis=-1)
    return np.ascontiguousarray(picture[..., 2::-1])


def _shrunk(picture: np.ndarray, side: int, *, nearest: bool = False) -> np.ndarray:
    """Shrink a picture whose longer side is past `side`, if that is not 0."""
    import cv2

    height, width = picture.shape[:2]
    if not side or max(height, width) <= side:
        return picture
    scale = side / max(height, width)
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    how = cv2.INTER_NEAREST if nearest else cv2.INTER_AREA
    return cv2.resize(picture, size, interpolation=how)
