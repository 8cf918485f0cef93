"""MMEngine's log lines, a readable number of them in short runs too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mmengine.hooks import LoggerHook
from mmengine.runner import Runner

from swin_mm.registry import HOOKS

_LINES = 10


@HOOKS.register_module()
class EvenLoggerHook(LoggerHook):
    """A `LoggerHook` whose interval is that of training; a validation takes ten lines.

    MMEngine's has one interval for both: what suits twenty iterations of training prints a line
    for every picture of the validation.
    """

    def after_val_iter(
        self,
        runner: Runner,
        batch_idx: int,
        data_batch: Any = None,
        outputs: Sequence[Any] | None = None,
    ) -> None:
        """Log ten times a validation."""
        interval, self.interval = self.interval, max(1, len(runner.val_dataloader) // _LINES)
        super().after_val_iter(runner, batch_idx, data_batch, outputs)
        self.interval = interval
