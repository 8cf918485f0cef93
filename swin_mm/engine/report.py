"""What a run comes to, in a few lines at its end."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner

from swin_mm.engine.loss_curve import course_of, draw_loss_curve

# What is told of a detector, and of a segmentor, in this order; all of it is in the log.
_TOLD = {
    "coco/bbox_mAP": "box AP",
    "coco/bbox_mAP_50": "box AP50",
    "coco/bbox_mAP_75": "box AP75",
    "coco/segm_mAP": "mask AP",
    "coco/segm_mAP_50": "mask AP50",
    "coco/segm_mAP_75": "mask AP75",
    "mIoU": "mIoU",
    "mAcc": "mean accuracy",
    "aAcc": "pixel accuracy",
}


class RunRecord(Hook):
    """Remember a run's metrics, and draw its loss curve after each validation and at the end.

    Args:
        curve: where the loss curve goes.

    Attributes:
        metrics: of the last validation or of the test; `None` before either.
    """

    priority = "LOW"

    def __init__(self, curve: str | None = None) -> None:
        self.curve = curve
        self.metrics: dict[str, float] | None = None
        self._began = time.monotonic()
        self._first = self._last = self._drawn = 0

    @property
    def seconds(self) -> float:
        """Time since the record began, s."""
        return time.monotonic() - self._began

    @property
    def span(self) -> str:
        """Which iterations were trained."""
        if self._first and self._first >= self._last:
            return f"nothing more, all {self._last} iterations were done,"
        if self._first:
            return f"iterations {self._first + 1} to {self._last}"
        return f"{self._last} iteration{'s' * (self._last != 1)}"

    def before_train(self, runner: Runner) -> None:
        """Remember where a resumed training begins."""
        self._first = runner.iter

    def after_val_epoch(self, runner: Runner, metrics: Mapping | None = None) -> None:
        """Keep the metrics, and draw the loss so far."""
        self.metrics = dict(metrics or {})
        self._draw(runner)

    def after_test_epoch(self, runner: Runner, metrics: Mapping | None = None) -> None:
        """Keep the metrics."""
        self.metrics = dict(metrics or {})

    def after_train(self, runner: Runner) -> None:
        """Draw the whole loss."""
        self._last = runner.iter
        self._draw(runner)

    def _draw(self, runner: Runner) -> None:
        if self.curve is None or not is_main_process():
            return
        course = course_of(runner.message_hub)
        if len(course.loss) != self._drawn:  # a validation after the last iteration drew it all
            draw_loss_curve(course, self.curve)
            self._drawn = len(course.loss)


def format_report(
    title: str, *, metrics: Mapping[str, float] | None, paths: Mapping[str, str | Sequence[str]]
) -> str:
    """Write the last lines of a run.

    Args:
        title: what was done.
        metrics: by MMEngine's names; those not told here by a shorter name are left out, unless
            none is. An empty mapping means that nothing was found, `None` that nothing was asked.
        paths: by what lies there; what does not exist is left out.
    """
    measured = metrics or {}
    told = {name: measured[key] for key, name in _TOLD.items() if key in measured} or measured
    lines = ["", title]
    if metrics is not None and not metrics:
        lines.append("  no metrics     not one instance was found")
    lines += [f"  {name:<14} {value:.4g}" for name, value in told.items()]
    for name, value in paths.items():
        several = [value] if isinstance(value, str) else list(value)
        there = [path for path in several if path and os.path.exists(path)]
        lines += [f"  {name if not i else '':<14} {_short(path)}" for i, path in enumerate(there)]
    return "\n".join(lines)


def _short(path: str) -> str:
    """Write a path from here, unless it lies outside."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
