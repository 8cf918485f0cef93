"""MMEngine's Runner with two manners: no half-written checkpoint, and a short greeting."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mmengine.logging import MMLogger
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner
from torch.optim import Optimizer

from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

PART = ".part"


class QuietRunner(Runner):
    """A Runner that saves beside and renames, and keeps its preamble in the log file.

    MMEngine prints the environment, the whole config and the order of hooks, some hundred lines,
    before anything happens. They go to the log file; warnings and all that follows are printed.

    Attributes:
        must_fit: whether weights that are loaded must fill the whole model, as they must for a
            test or a resume, and need not for fine-tuning.
    """

    must_fit = False

    def build_logger(
        self, log_level: int | str = "INFO", log_file: str | None = None, **kwargs: object
    ) -> MMLogger:
        """Build MMEngine's logger, its console silent until `speak`."""
        logger = super().build_logger(log_level=log_level, log_file=log_file, **kwargs)
        self._consoles = [
            (handler, handler.level)
            for handler in logger.handlers
            if type(handler) is logging.StreamHandler
        ]
        for handler, level in self._consoles:
            handler.setLevel(max(level, logging.WARNING))
        return logger

    def speak(self, notes: Notes) -> None:
        """Log what was said before there was a log, and let the console speak from now on."""
        for handler, _ in self._consoles:
            handler.setLevel(logging.CRITICAL)  # it has been printed
        notes.log_to(self.logger)
        for handler, level in self._consoles:
            handler.setLevel(level)

    def build_optim_wrapper(self, optim_wrapper: Optimizer | OptimWrapper | dict) -> OptimWrapper:
        """Build the optimizer; its three lines on each parameter go to the log file."""
        with self._silence():
            built = super().build_optim_wrapper(optim_wrapper)
        for one in built.values() if isinstance(built, OptimWrapperDict) else [built]:
            groups = one.optimizer.param_groups
            spared = sum(len(group["params"]) for group in groups if not group["weight_decay"])
            whole = sum(len(group["params"]) for group in groups)
            self.logger.info(
                f"{type(one.optimizer).__name__}: {whole} tensors, {spared} of them without decay"
            )
        return built

    @contextmanager
    def _silence(self) -> Iterator[None]:
        levels = [(handler, handler.level) for handler, _ in self._consoles]
        for handler, level in levels:
            handler.setLevel(max(level, logging.WARNING))
        yield
        for handler, level in levels:
            handler.setLevel(level)

    def load_checkpoint(
        self,
        filename: str,
        map_location: str | Callable = "cpu",
        strict: bool = False,
        **kwargs: object,
    ) -> dict:
        """Load weights; where they must fit, parts left without are an error, not a warning.

        Raises:
            UsageError: if a parameter of the model is not in the file, or of another shape.
        """
        try:
            return super().load_checkpoint(
                filename, map_location, strict=strict or self.must_fit, **kwargs
            )
        except RuntimeError as error:
            lines = str(error).splitlines()
            misfits = [one for one in lines if one.startswith(("size mismatch", "missing keys"))]
            if not self.must_fit:
                raise
            if misfits:
                raise UsageError(_misfit(filename, misfits, self.cfg.filename)) from error
        return super().load_checkpoint(filename, map_location, strict=strict, **kwargs)

    def save_checkpoint(self, out_dir: str, filename: str, *args: object, **kwargs: object) -> None:
        """Save under another name, then rename: a kill leaves the old file or the new one."""
        if "://" in out_dir:
            super().save_checkpoint(out_dir, filename, *args, **kwargs)
            return
        super().save_checkpoint(out_dir, filename + PART, *args, **kwargs)
        whole = os.path.join(out_dir, filename)
        if os.path.exists(whole + PART):  # only the first process saves
            os.replace(whole + PART, whole)


def _misfit(filename: str, misfits: list[str], config: str | None) -> str:
    shown = [line[:200] for line in misfits[:3]]
    name = os.path.basename(config or "CONFIG.py")
    return "\n  ".join(
        [
            f"{filename} does not fit the model of this config, for one:",
            *shown,
            f"If it was trained with --cfg-options, use the config that training wrote beside it, "
            f"{os.path.join(os.path.dirname(filename), name)}",
        ]
    )
