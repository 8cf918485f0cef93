"""Stop a training at the first number that is not finite, before it reaches the weights."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.dist import all_gather_object, all_reduce
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from swin_mm.engine import random_states
from swin_mm.engine.culprit import Culprit, find_culprit, first_in_state, tell
from swin_mm.engine.loops import BATCHES_DONE
from swin_mm.engine.whole_files import WHOLE_FILES
from swin_mm.registry import HOOKS

SMALLEST_SCALE = 1e-4
"""A loss scale below which a gradient that is still not finite is no matter of the scale.

It is halved at every step that is skipped, 30 times from where it starts.
"""


class NonFiniteError(RuntimeError):
    """A loss or a gradient is not finite; the message says where, and what was saved."""


@dataclass
class _Start:
    """What a batch's forward pass begins with, to go back to.

    Attributes:
        states: random states before the batch was preprocessed.
        data: what the preprocessor made of the batch.
        states_after: random states after that.
        buffers: the model's running statistics.
    """

    states: dict[str, Any]
    data: Any = None
    states_after: dict[str, Any] | None = None
    buffers: list[Tensor] | None = None


@HOOKS.register_module()
class FiniteHook(Hook):
    """Stop the run where a loss or a gradient is NaN or infinite, and say why.

    Every iteration is checked before its update, and all processes stop together. The batch is then
    computed again with the same random numbers, every module watched; the error names iteration,
    pictures, the first module whose output is not finite (or, where the loss is, the first whose
    gradient is not) and the checkpoint ``before_iter_N.pth``: weights, optimizer and running
    statistics from before the update.

    An iteration costs one pass over the gradients, one number to wait for, one to exchange between
    processes, and a copy of random states and running statistics. A step that a loss scaler skips
    is not an error, unless its scale has fallen below 1e-4.

    Args:
        save: whether to save that checkpoint.
    """

    priority = "VERY_HIGH"  # before the mean of the weights, before checkpoints

    def __init__(self, *, save: bool = True) -> None:
        self._save = save
        self._undo: list[Callable[[], Any]] = []
        self._loss: Tensor | None = None
        self._start: _Start | None = None
        self._checked = False

    def before_train(self, runner: Runner) -> None:
        """Watch what is given to the optimizers, and what the model is given."""
        self._runner = runner
        self._at_work = self._wrappers()[0]
        for wrapper in self._wrappers():
            inner = wrapper.update_params
            wrapper.update_params = functools.partial(self._update, wrapper, inner)
            self._undo.append(functools.partial(wrapper.__dict__.pop, "update_params"))
            handle = wrapper.optimizer.register_step_pre_hook(self._before_step)
            self._undo.append(handle.remove)
        preprocessor = self._model.data_preprocessor
        handles = [
            preprocessor.register_forward_pre_hook(self._before_preprocessing),
            preprocessor.register_forward_hook(self._after_preprocessing),
        ]
        self._undo += [handle.remove for handle in handles]

    def after_train(self, runner: Runner) -> None:
        """Watch no longer."""
        self._let_go()

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Check what no step was taken with: accumulated gradients, and steps that were skipped."""
        if not self._checked:
            scalers = [w.loss_scaler for w in self._wrappers() if hasattr(w, "loss_scaler")]
            wrappers = [] if scalers else self._wrappers()  # scaled gradients may well be infinite
            lost = any(scaler.get_scale() < SMALLEST_SCALE for scaler in scalers)
            self._require_finite([g for w in wrappers for g in _gradients(w.optimizer)], lost=lost)
        self._checked, self._loss, self._start = False, None, None

    @property
    def _model(self) -> nn.Module:
        model = self._runner.model
        return model.module if is_model_wrapper(model) else model

    def _wrappers(self) -> list[OptimWrapper]:
        wrapper = self._runner.optim_wrapper
        return list(wrapper.values()) if isinstance(wrapper, OptimWrapperDict) else [wrapper]

    def _update(
        self,
        wrapper: OptimWrapper,
        inner: Callable[..., None],
        loss: Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Take note of the loss on its way to the optimizer."""
        self._at_work, self._loss = wrapper, loss.detach()
        inner(loss, *args, **kwargs)

    def _before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        # With a loss scaler, a fused optimizer is called in any case, and skips by itself.
        skips_itself = getattr(optimizer, "found_inf", None) is not None
        self._require_finite([] if skips_itself else _gradients(optimizer))
        self._checked = True

    def _before_preprocessing(self, module: nn.Module, _: Any) -> None:
        if module.training:
            self._start = _Start(random_states.capture())

    def _after_preprocessing(self, module: nn.Module, _: Any, data: Any) -> None:
        if module.training:
            self._start.data, self._start.states_after = data, random_states.capture()
            self._start.buffers = [buffer.clone() for buffer in _statistics(self._model)]

    @torch.no_grad()
    def _require_finite(self, gradients: list[Tensor], *, lost: bool = False) -> None:
        """Stop all processes if the loss or a gradient of one is not finite.

        Args:
            gradients: of this process.
            lost: whether they cannot be finite any more.
        """
        numbers = [] if self._loss is None else [self._loss]
        if gradients:
            largest = get_total_norm(gradients, float("inf"))
            numbers.append(largest.full_tensor() if hasattr(largest, "full_tensor") else largest)
        broken = torch.tensor(lost, dtype=torch.int32, device=get_device())
        for number in numbers:
            broken += (~number.isfinite().all()).to(broken)
        all_reduce(broken, "max")
        if broken.item():
            self._stop()

    def _stop(self) -> None:
        """Find out, save, and end.

        Raises:
            NonFiniteError: always.
        """
        runner, start = self._runner, self._start
        self._let_go()
        loss = "unknown" if self._loss is None else f"{self._loss.item():g}"
        poisoned, culprit = "", Culprit()
        if start is not None and start.buffers is not None:
            self._go_back(start)
            poisoned = first_in_state(self._model)
            random_states.restore(start.states_after)
            culprit = find_culprit(
                self._model, start.data, context=self._context, scale=self._scaled
            )
            self._go_back(start)
        # Running statistics may differ; whether they save, all processes must agree on.
        poisoned = next(filter(None, all_gather_object(poisoned)), "")
        saved = self._save and not poisoned and self._save_before(start)
        culprits = all_gather_object(culprit)
        story = _tell(runner, culprits, loss=loss, poisoned=poisoned, saved=saved or "")
        _log_to_files(runner.logger, story)
        raise NonFiniteError(story)

    def _go_back(self, start: _Start) -> None:
        """Take back what the forward pass did to running statistics."""
        for buffer, before in zip(_statistics(self._model), start.buffers, strict=True):
            buffer.copy_(before)

    def _context(self) -> Any:
        return self._at_work.optim_context(self._model)

    def _scaled(self, loss: Tensor) -> Tensor:
        loss = self._at_work.scale_loss(loss)
        scaler = getattr(self._at_work, "loss_scaler", None)
        return loss if scaler is None else scaler.scale(loss)

    def _save_before(self, start: _Start | None) -> str:
        """Save the run as it was before the iteration, and return the file's path."""
        runner = self._runner
        states = all_gather_object(None if start is None else start.states)
        self._states = states if None not in states else None
        if done := runner.message_hub.runtime_info.get(BATCHES_DONE):
            runner.message_hub.update_info(BATCHES_DONE, done - 1)  # this one is not, after all
        name = f"before_iter_{runner.iter + 1}.pth"
        try:
            runner.save_checkpoint(
                runner.work_dir,
                name,
                meta={"epoch": runner.epoch, "iter": runner.iter},
                backend_args={"backend": WHOLE_FILES},
            )
        except OSError as error:  # a full disk; the story matters more
            return f"NOT saved ({error})"
        finally:
            self._states = None
        return f"{runner.work_dir}/{name}"

    _states: list[dict[str, Any]] | None = None

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:
        """Add the random states from before the iteration."""
        if self._states is not None:
            checkpoint[random_states.NAME] = self._states

    def _let_go(self) -> None:
        while self._undo:
            self._undo.pop()()


def _gradients(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _statistics(model: nn.Module) -> list[Tensor]:
    """Return the buffers that a forward pass may write to: numbers, not index tables."""
    return [b for b in model.buffers() if b.is_floating_point() or b.numel() == 1]


def _tell(runner: Runner, culprits: list[Culprit], *, loss: str, poisoned: str, saved: str) -> str:
    """Write the whole story."""
    lines = [
        f"stopped before the update of iteration {runner.iter + 1} (epoch {runner.epoch + 1}): "
        f"a loss or a gradient is not finite; the loss is {loss}",
        *tell(culprits),
    ]
    if poisoned:
        last = runner.message_hub.runtime_info.get("last_ckpt") or "an older checkpoint"
        lines.append(
            f"the weights were not finite before it: {poisoned}. They are not saved; go on from "
            f"{last}"
        )
    elif saved:
        lines.append(f"weights from before the update: {saved}")
        lines.append(f"to go on from them: --resume {saved}")
    lines.append(
        "what helps: a lower learning rate or a longer warm-up, optim_wrapper.clip_grad, and a "
        "look at these pictures and their annotations"
    )
    return "\n  ".join(lines)


def _log_to_files(logger: logging.Logger, story: str) -> None:
    """Write the story into the log; the console is told by whoever catches the error."""
    record = logger.makeRecord(logger.name, logging.ERROR, __file__, 0, story, (), None)
    for handler in logger.handlers:
        if isinstance(handler, logging.FileHandler):
            handler.handle(record)
