"""From a picture in memory to what a model finds in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.registry import TRANSFORMS
from torch import nn

from swin_mm.inference.classes import Classes, classes_of
from swin_mm.inference.errors import InferenceError, PictureError
from swin_mm.inference.model import load_model
from swin_mm.inference.pictures import read_picture
from swin_mm.inference.registered import scope_of


class Predictor:
    """A model with the pipeline that its config tests pictures with.

    Args:
        cfg: of the model.
        model: built from it, filled, in evaluation mode.
        checkpoint_meta: what the checkpoint says of its data set.

    Attributes:
        finds_instances: whether the model finds instances; if not, it labels pixels.
        classes: its classes.

    Raises:
        InferenceError: if the pipeline does not begin with reading a file, or the model is
            neither a detector nor a segmentor.
    """

    def __init__(self, cfg: Config, model: nn.Module, checkpoint_meta: Mapping[str, Any]) -> None:
        self.cfg = cfg
        self.model = model
        self._reading, steps = _split_pipeline(cfg)
        with scope_of(cfg, TRANSFORMS):
            self._pipeline = Compose(steps)
        count = _count_classes(model)
        self.finds_instances = not hasattr(model, "decode_head")
        self.classes: Classes = classes_of(
            cfg, checkpoint_meta, count=count, instances=self.finds_instances
        )

    @classmethod
    def load(cls, cfg: Config, checkpoint: str, *, device: str | torch.device) -> Predictor:
        """Build from a config and a checkpoint; see :func:`load_model`."""
        model, meta = load_model(cfg, checkpoint, device=device)
        return cls(cfg, model, meta)

    def read(self, path: str) -> np.ndarray:
        """Read a picture as the pipeline's own first step would, (H, W, 3) uint8 BGR mostly.

        Raises:
            PictureError: if it cannot be read.
        """
        return read_picture(path, **self._reading)

    def __call__(self, picture: np.ndarray) -> Any:
        """Look at a picture.

        Args:
            picture: what :meth:`read` returns, of any size.

        Returns:
            The host's data sample on the CPU: `pred_instances`, or `pred_sem_seg` of (1, H, W),
            in the picture's own pixels.

        Raises:
            PictureError: if the pipeline cannot take it, or memory does not suffice for it.
        """
        import cv2

        height, width = picture.shape[:2]
        try:
            packed = self._pipeline({"img": picture, "img_id": 0})
            batch = {"inputs": [packed["inputs"]], "data_samples": [packed["data_samples"]]}
            with torch.no_grad():
                return self.model.test_step(batch)[0].cpu()
        except cv2.error as error:
            raise PictureError(
                f"the config's pipeline cannot take {width}x{height} px: OpenCV's {error.func} "
                f"wants {error.err}"
            ) from error
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "memory" not in str(error):
                raise
            raise PictureError(f"{width}x{height} px do not fit into memory") from error


def _split_pipeline(cfg: Config) -> tuple[dict[str, Any], list[dict]]:
    """Take the reading out of a test pipeline, and the truth, which nobody has.

    Returns:
        Arguments for :func:`read_picture`, and the steps, which begin with a picture in memory.
    """
    loader = cfg.get("test_dataloader") or cfg.get("val_dataloader") or {}
    pipeline = (loader.get("dataset") or {}).get("pipeline") or cfg.get("test_pipeline") or []
    first, *rest = [dict(step) for step in pipeline] or [{"type": "nothing"}]
    name = _name_of(first)
    if name.rpartition(".")[2] != "LoadImageFromFile":
        raise InferenceError(
            "the test pipeline (test_dataloader.dataset.pipeline) must begin with "
            f"LoadImageFromFile, it begins with {name}"
        )
    reading = {"colour": first.get("color_type", "color"), "backend": first.get("imdecode_backend")}
    scope = cfg.get("default_scope")
    loading = {"type": f"{scope}.LoadImageFromNDArray" if scope else "LoadImageFromNDArray"}
    loading["to_float32"] = first.get("to_float32", False)
    return reading, [loading, *(step for step in rest if "LoadAnnotations" not in _name_of(step))]


def _name_of(step: Mapping[str, Any]) -> str:
    kind = step["type"]
    return kind if isinstance(kind, str) else kind.__name__


def _count_classes(model: nn.Module) -> int:
    """Ask a model's head for its classes: a segmentor's, a two-stage or a one-stage detector's."""
    for path in ("decode_head", "roi_head.bbox_head", "bbox_head", "panoptic_head"):
        head: Any = model
        for name in path.split("."):
            head = getattr(head, name, None)
        if isinstance(head, nn.ModuleList):  # of a cascade, the last one speaks
            head = head[-1]
        if hasattr(head, "num_classes"):
            return head.num_classes
    raise InferenceError(
        "the model must be a detector or a segmentor with a head that knows its num_classes, "
        f"got {type(model).__name__}"
    )
