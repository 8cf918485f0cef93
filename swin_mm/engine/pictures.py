"""Truth beside prediction, drawn by the host's own visualizer."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from mmengine.dist import gather_object, is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.visualization import Visualizer

_TRUTHS = ("gt_instances", "gt_sem_seg", "gt_panoptic_seg")
_SIDES = ("truth", "prediction")  # as the hosts place them


class PredictionPictures(Hook):
    """Draw pictures of validation or test with what was there and what was found.

    MMEngine's own hooks draw into the folder of logs, one of them without the choice of another,
    and not a few pictures spread over the set.

    Args:
        folder: where the PNGs go.
        count: how many pictures of a validation; of a test all are drawn.
        score_threshold: instances below are not drawn.

    Attributes:
        paths: the PNGs of the last validation or of the test.
    """

    priority = "LOW"

    def __init__(self, folder: str, *, count: int = 6, score_threshold: float = 0.3) -> None:
        self.folder = folder
        self.count = count
        self.score_threshold = score_threshold
        self.paths: list[str] = []
        self._drawn: set[str] = set()

    def before_val_epoch(self, runner: Runner) -> None:
        """Choose pictures spread over the set, the same in every validation."""
        self.paths = []
        batches = len(runner.val_dataloader)
        chosen = np.linspace(0, batches - 1, min(self.count, batches)).round()
        self._chosen = {int(index) for index in chosen}

    def after_val_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: Any = None,
        outputs: Sequence[Any] | None = None,
    ) -> None:
        """Draw the first picture of a chosen batch."""
        if batch_idx in self._chosen and outputs:
            self._draw(runner, outputs[0])

    def after_test_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: Any = None,
        outputs: Sequence[Any] | None = None,
    ) -> None:
        """Draw all pictures of the batch, those of other processes too: the first one alone draws.

        Samplers of tests give every process the same number of batches, filled up with pictures
        that another one has; these are drawn once.
        """
        share = [_to_be_drawn(sample) for sample in outputs or ()]
        for sample in itertools.chain(*(gather_object(share) or ())):
            if sample.img_path not in self._drawn:
                self._drawn.add(sample.img_path)
                self._draw(runner, sample)

    def _draw(self, runner: Runner, sample: Any) -> None:
        import mmcv
        from matplotlib import rc_context

        if not is_main_process():
            return
        os.makedirs(self.folder, exist_ok=True)
        stem = os.path.splitext(os.path.basename(sample.img_path))[0]
        path = os.path.join(self.folder, f"{stem}.png")
        if path in self.paths:  # two folders of a data set may use one name
            path = os.path.join(self.folder, f"{stem}_{len(self.paths)}.png")
        options: dict[str, Any] = {"draw_gt": any(name in sample for name in _TRUTHS)}
        if "pred_instances" in sample:
            options["pred_score_thr"] = self.score_threshold
        picture = mmcv.imread(sample.img_path, channel_order="rgb")
        with warnings.catch_warnings(), rc_context({"text.parse_math": False}):
            warnings.simplefilter("ignore")  # of boxes that end on the border
            runner.visualizer.add_datasample(
                stem, picture, data_sample=sample, out_file=path, **options
            )
        if options["draw_gt"]:
            _name_sides(path, width=picture.shape[1])
        self.paths.append(path)


def _to_be_drawn(sample: Any) -> Any:
    """Copy a sample to the CPU, without the scores of every pixel: gigabytes that nobody draws."""
    copied = sample.cpu()
    if "seg_logits" in copied:
        del copied.seg_logits
    return copied


def _name_sides(path: str, *, width: int) -> None:
    """Write above the two halves of a drawn picture which is which.

    Args:
        path: of the PNG.
        width: of the picture itself, px; what is not drawn as two of them is left as it is.
    """
    import mmcv

    drawn = mmcv.imread(path)
    if drawn.shape[1] != len(_SIDES) * width:
        return
    letters = min(max(width / 36, 10), 32)  # px
    blank = np.full((round(1.7 * letters), drawn.shape[1], 3), 255, np.uint8)
    painter = Visualizer(image=blank)
    places = np.array([[number * width + 4, len(blank) / 2] for number in range(len(_SIDES))])
    painter.draw_texts(
        list(_SIDES),
        places,
        font_sizes=0.72 * letters,
        vertical_alignments="center",
        colors="k",
    )
    mmcv.imwrite(np.concatenate([painter.get_image(), drawn]), path)
