"""From pictures in memory to what a model says of them."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from mmengine.dataset import Compose
from mmengine.registry import TRANSFORMS
from torch import Tensor, nn

from swin_mm.inference.classes import Classes, classes_of
from swin_mm.inference.errors import InferenceError, PictureError
from swin_mm.inference.half_precision import halve
from swin_mm.inference.model import load_model
from swin_mm.inference.options import Options
from swin_mm.inference.pipeline import split_pipeline
from swin_mm.inference.pixel_scores import PixelScores
from swin_mm.inference.reading import read_picture
from swin_mm.inference.registered import scope_of
from swin_mm.inference.switches import augmented, compile_backbone, flipping_pipeline

# How torch says so, on a GPU and on the CPU. One that reads memory not its own is a bug's.
_NO_MEMORY = ("out of memory", "t allocate memory", "not enough memory", "ALLOC_FAILED")


@dataclass(frozen=True)
class Packed:
    """A picture as the config's pipeline hands it to the model.

    Attributes:
        inputs: of each view, (3, h, w); one view without test-time augmentation.
        samples: the host's data sample of each view.
        height: of the picture, px.
        width: of the picture, px.
    """

    inputs: Sequence[Tensor]
    samples: Sequence[Any]
    height: int
    width: int

    @property
    def kind(self) -> tuple:
        """Pictures of one kind may go through the network together, and change nothing by it."""
        return self.height, self.width, tuple(tuple(view.shape) for view in self.inputs)


class Predictor:
    """A model with the pipeline that its config tests pictures with.

    Args:
        cfg: of the model.
        model: built from it, filled, in evaluation mode.
        checkpoint_meta: what the checkpoint says of its data set.
        tta: look at every picture in several scales and flips, and merge.
        amp: run backbone and neck in half precision.

    Attributes:
        finds_instances: whether the model finds instances; if not, it labels pixels.
        classes: its classes.

    Raises:
        InferenceError: if the pipeline does not begin with reading a file, or the model is
            neither a detector nor a segmentor.
    """

    def __init__(
        self,
        cfg: Config,
        model: nn.Module,
        checkpoint_meta: Mapping[str, Any],
        *,
        tta: bool = False,
        amp: bool = False,
    ) -> None:
        self.cfg = cfg
        self.model = model
        self.tta = tta
        self._reading, steps = split_pipeline(cfg, flipping_pipeline(cfg) if tta else None)
        with scope_of(cfg, TRANSFORMS):
            self._pipeline = Compose(steps)
        count = _count_classes(model)
        self.finds_instances = not hasattr(model, "decode_head")
        self.classes: Classes = classes_of(
            cfg, checkpoint_meta, count=count, instances=self.finds_instances
        )
        if amp:
            halve(model)
        self._tester = augmented(cfg, model) if tta and self.finds_instances else model

    @classmethod
    def load(
        cls,
        cfg: Config,
        checkpoint: str,
        *,
        device: str | torch.device,
        options: Options | None = None,
        unsafe: bool = False,
    ) -> Predictor:
        """Build from a config and a checkpoint; see :func:`load_model`."""
        options = options or Options()
        if options.compile:
            compile_backbone(cfg)
        model, meta = load_model(cfg, checkpoint, device=device, unsafe=unsafe)
        return cls(cfg, model, meta, tta=options.tta, amp=options.amp)

    def read(self, path: str) -> np.ndarray:
        """Read a picture as the pipeline's own first step would, (H, W, 3) uint8 BGR mostly.

        Raises:
            PictureError: if it cannot be read.
        """
        return read_picture(path, **self._reading)

    def pack(self, picture: np.ndarray) -> Packed:
        """Take a picture through the config's pipeline.

        Args:
            picture: as :meth:`read` returns it, of any size.

        Raises:
            PictureError: if the pipeline cannot take it, or memory does not suffice for it.
        """
        import cv2

        height, width = picture.shape[:2]
        try:
            packed = self._pipeline({"img": picture, "img_id": 0})
        except cv2.error as error:
            raise PictureError(
                f"the config's pipeline cannot take {width}x{height} px: OpenCV's {error.func} "
                f"wants {error.err}"
            ) from error
        except MemoryError as error:
            raise _no_room(height, width) from error
        inputs, samples = packed["inputs"], packed["data_samples"]
        if not self.tta:
            inputs, samples = [inputs], [samples]
        return Packed(inputs, samples, height, width)

    def find(self, pictures: Sequence[Packed]) -> list[Any]:
        """Find the instances of pictures of one kind.

        Returns:
            The host's data samples on the CPU, with `pred_instances` in the pictures' own pixels.

        Raises:
            PictureError: if they do not fit into memory.
            InferenceError: if the backbone does not compile.
        """
        with torch.no_grad(), _told(pictures[0]):
            if self.tta:
                views = range(len(pictures[0].inputs))
                batch = {
                    "inputs": [[one.inputs[view] for one in pictures] for view in views],
                    "data_samples": [[one.samples[view] for one in pictures] for view in views],
                }
            else:
                batch = _batch(pictures, 0)
            return [sample.cpu() for sample in self._tester.test_step(batch)]

    def score(self, pictures: Sequence[Packed]) -> list[PixelScores]:
        """Score the pixels of pictures of one kind.

        Test-time augmentation averages the probabilities of all views.

        Raises:
            PictureError: if they do not fit into memory.
            InferenceError: if the backbone does not compile.
        """
        corners = bool(getattr(self.model, "align_corners", False))
        views = range(len(pictures[0].inputs))
        with torch.no_grad(), _told(pictures[0]):
            scored = [self._score_view(_batch(pictures, view)) for view in views]
        return [
            PixelScores([view[place] for view in scored], one.height, one.width, corners, self.tta)
            for place, one in enumerate(pictures)
        ]

    def decide(self, scores: Tensor) -> np.ndarray:
        """Label pixels by their scores, (C, rows, columns) to (rows, columns) int64."""
        if len(scores) > 1:
            return scores.argmax(0).cpu().numpy()
        shares = scores[0] if self.tta else scores[0].sigmoid()
        return (shares > self.model.decode_head.threshold).long().cpu().numpy()

    def _score_view(self, batch: dict[str, list]) -> list[Tensor]:
        """Logits of each picture as the network computes them, (C, h, w), unflipped."""
        if not _scores_before_resizing(self.model):
            return [sample.seg_logits.data for sample in self.model.test_step(batch)]
        ready = self.model.data_preprocessor(batch, False)
        samples = ready["data_samples"]
        logits = self.model.inference(ready["inputs"], [one.metainfo for one in samples])
        return [_upright(one, sample.metainfo) for one, sample in zip(logits, samples, strict=True)]


def _batch(pictures: Sequence[Packed], view: int) -> dict[str, list]:
    return {
        "inputs": [one.inputs[view] for one in pictures],
        "data_samples": [one.samples[view] for one in pictures],
    }


def _scores_before_resizing(model: nn.Module) -> bool:
    """Say whether a segmentor resizes its logits as MMSegmentation's do, which is done here."""
    from mmseg.models import EncoderDecoder

    kind = type(model)
    return (
        isinstance(model, EncoderDecoder)
        and kind.predict is EncoderDecoder.predict
        and kind.postprocess_result is EncoderDecoder.postprocess_result
    )


def _upright(logits: Tensor, meta: Mapping[str, Any]) -> Tensor:
    """Take padding and flip back, as MMSegmentation does before it resizes."""
    left, right, top, bottom = meta.get("img_padding_size", meta.get("padding_size", [0] * 4))
    height, width = logits.shape[-2:]
    logits = logits[:, top : height - bottom, left : width - right]
    if meta.get("flip"):
        logits = logits.flip(-1 if meta.get("flip_direction") == "horizontal" else -2)
    return logits


class _told:
    """Say of a failure in the network whether it is the picture's, the compiler's or a bug's."""

    def __init__(self, picture: Packed) -> None:
        self.picture = picture

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, RuntimeError | MemoryError):
            first = str(error).strip().partition("\n")[0]
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise InferenceError(
                    f"torch cannot compile the backbone here: {first}. It needs a C++ compiler "
                    "(Triton on a GPU) and a path without spaces; or leave --compile out"
                ) from error
            if isinstance(error, MemoryError) or any(one in str(error) for one in _NO_MEMORY):
                traceback.clear_frames(trace)  # they hold what filled the memory
                raise _no_room(self.picture.height, self.picture.width) from error


def _no_room(height: int, width: int) -> PictureError:
    return PictureError(
        f"{width}x{height} px do not fit into memory; look at them by tiles (--tile 1024)"
    )


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
