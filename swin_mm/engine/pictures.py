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

_TRUTHS = ("gt_instances", "gt_sem_seg", "gt_panoptic_seg")


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
        share = [sample.cpu() for sample in outputs or ()]
        for sample in itertools.chain(*(gather_object(share) or ())):
            if sample.img_path not in self._drawn:
                self._drawn.add(sample.img_path)
                self._draw(runner, sample)

    def _draw(self, runner: Runner, sample: Any) -> None:
        import mmcv

        if not is_main_process():
            return
        os.makedirs(self.folder, exist_ok=True)
        stem = os.path.splitext(os.path.basename(sample.img_path))[0]
        path = os.path.join(self.folder, f"{stem}.png")
        if path in self.paths:  # two folders of a data set may use one name
            path = os.path.join(self.folder, f"{stem}_{len(self.paths)}.png")
        options = {}
        if "pred_instances" in sample:
            options["pred_score_thr"] = self.score_threshold
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of boxes that end on the border
            runner.visualizer.add_datasample(
                stem,
                mmcv.imread(sample.img_path, channel_order="rgb"),
                data_sample=sample,
                draw_gt=any(name in sample for name in _TRUTHS),
                out_file=path,
                **options,
            )
        self.paths.append(path)
