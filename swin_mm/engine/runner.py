"""MMEngine's Runner with two manners: no half-written checkpoint, and a short greeting."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from mmengine.logging import MMLogger
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.registry import OPTIMIZERS
from mmengine.runner import Runner
from torch.optim import Optimizer

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.errors import OtherNetworkError
from swin_mm.engine.errors import UsageError, near
from swin_mm.engine.notes import Notes
from swin_mm.engine.onlookers import Patience
from swin_mm.engine.whole_files import WHOLE_FILES

# What of a scheduler says when the rate changes.
_MOMENTS = ("begin", "end", "milestones", "total_iters", "T_max", "step_size")
# What of an optimizer's group a config sets, and a resume takes from the checkpoint.
_RATES = ("lr", "weight_decay", "momentum", "betas")


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
        self._patience = Patience()
        for handler in logger.handlers:
            if isinstance(handler, logging.FileHandler):
                self._patience.with_log_file(handler)
        return logger

    def call_hook(self, fn_name: str, **kwargs: object) -> None:
        """Let all hooks act; those that only look on may fail to write."""
        for hook in self.hooks:
            if hasattr(hook, fn_name):
                try:
                    getattr(hook, fn_name)(self, **kwargs)
                except OSError as error:
                    self._patience.with_hook(self, hook, error)

    def speak(self, notes: Notes) -> None:
        """Log what was said before there was a log, and let the console speak from now on."""
        for handler, _ in self._consoles:
            handler.setLevel(logging.CRITICAL)  # it has been printed
        notes.log_to(self.logger)
        for handler, level in self._consoles:
            handler.setLevel(level)

    def build_optim_wrapper(self, optim_wrapper: Optimizer | OptimWrapper | dict) -> OptimWrapper:
        """Build the optimizer; its three lines on each parameter go to the log file.

        Raises:
            UsageError: if the config asks for what there is not, or for what cannot be.
        """
        with self._silence():
            try:
                built = super().build_optim_wrapper(optim_wrapper)
            except (ValueError, TypeError) as error:  # None, uncallable, for an unknown optimizer
                raise UsageError(
                    f"optim_wrapper cannot be built: {_cause(error, optim_wrapper)}"
                ) from error
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
        try:
            yield
        finally:
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
            UsageError: if a parameter of the model is not in the file, or of another shape, or if
                a run cannot go on from the file.
            CheckpointError: if the file cannot be read, or holds nothing for the model.
        """
        try:
            checkpoint = super().load_checkpoint(
                filename, map_location, strict=strict or self.must_fit, **kwargs
            )
        except CheckpointError as error:
            if filename in str(error):
                raise
            if self.must_fit and isinstance(error, OtherNetworkError):
                raise UsageError(_misfit(filename, [str(error)], self.cfg.filename)) from error
            raise CheckpointError(f"{filename}: {error}") from error
        except RuntimeError as error:
            lines = str(error).splitlines()
            misfits = [one for one in lines if one.startswith(("size mismatch", "missing keys"))]
            if not self.must_fit:
                raise
            if misfits:
                raise UsageError(_misfit(filename, misfits, self.cfg.filename)) from error
            checkpoint = super().load_checkpoint(filename, map_location, strict=strict, **kwargs)
        if self._resume and not {"meta", "message_hub"} <= checkpoint.keys():
            raise UsageError(
                f"a run goes on from what a training of MMEngine's saved, {filename} holds weights "
                f"alone. Start a new run from it: --cfg-options load_from={filename}"
            )
        self._saved_schedulers = checkpoint.get("param_schedulers")
        return checkpoint

    def dump_config(self) -> None:
        """Write the config into the work dir; of a resumed run when it has gone on, not before."""
        if not self._resume:
            super().dump_config()

    def load_or_resume(self) -> None:
        """Take what the config says to start with, or to go on from."""
        super().load_or_resume()
        if self._resume:
            super().dump_config()

    def resume(self, filename: str, *args: object, **kwargs: object) -> None:
        """Go on from a checkpoint, with the schedule that it was trained with.

        MMEngine fills this run's optimizer and schedulers with the checkpoint's numbers, one after
        the other: other rates in the config would have no effect.

        Raises:
            UsageError: if they are not the same kinds of schedulers.
        """
        planned, rates = _numbers_of(self.param_schedulers), _rates_of(self.optim_wrapper)
        super().resume(filename, *args, **kwargs)
        if others := _other_rates(rates, _rates_of(self.optim_wrapper)):
            self.logger.warning(
                f"Resume: the optimizer keeps the checkpoint's settings ({', '.join(others)}). For "
                f"others start a new run from it: --cfg-options load_from={filename}"
            )
        saved = self._saved_schedulers
        if planned is None or not isinstance(saved, list):
            return
        if [set(one) for one in planned] != [set(one) for one in saved]:
            raise UsageError(
                f"{filename} was trained with {len(saved)} learning-rate schedulers, this run has "
                f"{len(planned)}, or of other kinds. Resume with the --max-iters and the config "
                "it was trained with, or start a new run from it with --cfg-options load_from="
                f"{filename}"
            )
        changed = [
            f"{key} {old[key]} in place of {new[key]}"
            for new, old in zip(planned, saved, strict=True)
            for key in _MOMENTS
            if key in new and new[key] != old[key]
        ]
        if changed:
            self.logger.warning(
                f"Resume: the learning rate keeps the checkpoint's course ({', '.join(changed)})"
            )

    def save_checkpoint(self, out_dir: str, filename: str, *args: object, **kwargs: object) -> None:
        """Save a file that is whole or not there, whichever hook asks for it."""
        if "://" not in out_dir and not any(args) and kwargs.get("backend_args") is None:
            os.makedirs(out_dir, exist_ok=True)
            kwargs["backend_args"] = {"backend": WHOLE_FILES}
        super().save_checkpoint(out_dir, filename, *args, **kwargs)


def _cause(error: Exception, optim_wrapper: object) -> str:
    """Say why an optimizer cannot be built; MMEngine does not say that its name is unknown."""
    settings = optim_wrapper.get("optimizer") if isinstance(optim_wrapper, Mapping) else None
    kind = settings.get("type") if isinstance(settings, Mapping) else None
    if not isinstance(kind, str) or kind in OPTIMIZERS:
        return str(error)
    return f"there is no optimizer {kind!r}{near(kind, OPTIMIZERS.module_dict)}"


def _rates_of(wrapper: object) -> list[dict]:
    """Copy what a single optimizer's groups begin with; a schedule changes what is in use."""
    if not isinstance(wrapper, OptimWrapper):
        return []
    return [
        {name: group.get(f"initial_{name}", group[name]) for name in _RATES if name in group}
        for group in wrapper.optimizer.param_groups
    ]


def _other_rates(planned: list[dict], kept: list[dict]) -> list[str]:
    """Say which settings of groups are others than planned, each pair once."""
    texts = [
        f"{name} {old[name]} in place of {value}"
        for new, old in zip(planned, kept, strict=False)
        for name, value in new.items()
        if name in old and old[name] != value
    ]
    return list(dict.fromkeys(texts))[:3]


def _numbers_of(schedulers: object) -> list[dict] | None:
    """Copy what schedulers hold; nothing for several optimizers, whose schedulers lie by name."""
    if not isinstance(schedulers, list):
        return None
    return [copy.deepcopy(scheduler.state_dict()) for scheduler in schedulers]


def _misfit(filename: str, misfits: list[str], config: str | None) -> str:
    shown = [line[:500] for line in misfits[:3]]
    name = os.path.basename(config or "CONFIG.py")
    return "\n  ".join(
        [
            f"{filename} does not fit the model of this config, for one:",
            *shown,
            f"If it was trained with --cfg-options, use the config that training wrote beside it, "
            f"{os.path.join(os.path.dirname(filename), name)}",
        ]
    )
