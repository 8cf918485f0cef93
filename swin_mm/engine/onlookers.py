"""What only looks on, logs and pictures, must not end a training that it cannot write of."""

from __future__ import annotations

import logging
import sys

from mmengine.hooks import Hook, LoggerHook
from mmengine.runner import Runner

from swin_mm.engine.pictures import PredictionPictures
from swin_mm.engine.report import RunRecord

_WRITERS = (LoggerHook, RunRecord, PredictionPictures)


def only_looks_on(hook: Hook) -> bool:
    """Whether a hook writes about a training, and the training does without."""
    return isinstance(hook, _WRITERS) or type(hook).__name__.endswith("VisualizationHook")


class Patience:
    """Say once for each onlooker that it cannot write, and let it try again."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def with_hook(self, runner: Runner, hook: Hook, error: OSError) -> None:
        """Pass over what a hook could not write.

        Raises:
            OSError: as it came, where the hook is no onlooker.
        """
        if not only_looks_on(hook):
            raise error
        name = type(hook).__name__
        if name not in self._told:
            self._told.add(name)
            runner.logger.warning(
                f"{name} could not write: {error}. The training goes on; what it would have "
                "shown is missing"
            )

    def with_log_file(self, handler: logging.FileHandler) -> None:
        """Let a log file that cannot be written be told of once, in place of each line."""

        def told(_: logging.LogRecord) -> None:
            if handler.baseFilename not in self._told:
                self._told.add(handler.baseFilename)
                error = sys.exc_info()[1]
                print(
                    f"WARNING: {handler.baseFilename} cannot be written: {error}. The training "
                    "goes on; lines are missing there",
                    file=sys.stderr,
                    flush=True,
                )

        handler.handleError = told
