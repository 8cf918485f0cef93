"""Checkpoints from which a run goes on exactly, and the one that a signal asks for."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.dist import all_gather_object
from mmengine.hooks import EMAHook
from mmengine.runner import Runner
from torch import Tensor

from swin_mm.engine import random_states
from swin_mm.engine.accumulation import give_back, pending_gradients
from swin_mm.engine.loops import VALIDATED
from swin_mm.engine.stopping import Stopped, StopSignals
from swin_mm.engine.whole_checkpoints import WholeCheckpointHook
from swin_mm.registry import HOOKS

GRADIENTS = "gradients"  # in a checkpoint: those that wait for an accumulation to be full
_WITHIN = "within_epoch_ckpts"


@HOOKS.register_module()
class SafeCheckpointHook(WholeCheckpointHook):
    """MMEngine's hook, whose checkpoints are whole or not there, and from which a run goes on.

    A checkpoint is written beside its place, to the disk, read back, renamed; then
    `last_checkpoint` names it; then older ones go. It holds the random states of every process.
    A signal is answered with a checkpoint after the iteration, in validation at once, and the exit
    code 128 plus its number. What stops MMEngine's own hook, a full disk, is told and tried again.

    It goes on within an epoch, and exactly, in `swin_mm.ResumableEpochLoop` and
    `swin_mm.ResumableIterLoop`.

    Args:
        within_epoch: in a run of epochs, also save after so many iterations; each such checkpoint
            replaces the one before, and that of the epoch replaces the last. 0 for none.
        signals: what asks the run to save and stop.
        of_the_base: MMEngine's arguments, and `on_failure`: what a checkpoint that cannot be
            written means. `go_on`, the default, warns and tries again at the next one; `stop` is
            an error, as it always is at the end of the training.
    """

    def __init__(
        self,
        *,
        within_epoch: int = 1000,
        signals: Sequence[str] = ("SIGTERM", "SIGINT"),
        **of_the_base: Any,
    ) -> None:
        super().__init__(**of_the_base)
        if within_epoch < 0:
            raise ValueError(
                f"within_epoch must be a number of iterations, or 0 for none, got {within_epoch}"
            )
        self.within_epoch = within_epoch
        self._signals = StopSignals(signals)
        self._states: dict[str, Any] | None = None  # after the last iteration, of this process
        self._gathered: list[dict[str, Any]] | None = None  # all processes', while they save
        self._pending: dict[str, Tensor] = {}
        self._last_save: tuple[int, str] | None = None  # its iteration and its file's name
        self._saves = 0
        self._training = False
        self._val_in_step = True

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:
        """Take the random states out of a checkpoint that the run goes on from."""
        if not runner._resume:
            return
        self._pending = checkpoint.get(GRADIENTS) or {}
        states = checkpoint.get(random_states.NAME)
        if states is not None and len(states) == runner.world_size:
            self._states = states[runner.rank]
        elif states is not None:
            runner.logger.warning(
                f"the checkpoint is one of {len(states)} processes, here are {runner.world_size}: "
                "the run goes on, but with other random numbers"
            )

    def before_train(self, runner: Runner) -> None:
        """Find out where checkpoints go, and listen to the signals."""
        super().before_train(runner)
        give_back(runner, self._pending)
        self._training = True
        self._signals.listen()

    def after_train(self, runner: Runner) -> None:
        """Give the signals back, and end as MMEngine does."""
        self.end()
        super().after_train(runner)

    def end(self) -> None:
        """Give the signals back, however the training ended."""
        self._training = False
        self._signals.leave()

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None) -> None:
        """Let the random numbers go on from the last iteration, whatever has drawn any since."""
        if self._states is not None:
            random_states.restore(self._states)

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Save if it is time, and stop if a signal has come."""
        self._states = random_states.capture()
        super().after_train_iter(runner, batch_idx, data_batch, outputs)
        if self._within_is_due(runner):
            self._save_within(runner, epoch=runner.epoch, iteration=runner.iter + 1)
        if number := self._signals.agreed():
            self._stop(runner, number, epoch=runner.epoch, iteration=runner.iter + 1)

    def before_val_epoch(self, runner: Runner) -> None:
        """Find out whether all processes validate as many batches, and so can stop together."""
        if self._training:
            self._val_in_step = len(set(all_gather_object(len(runner.val_dataloader)))) == 1

    def after_val_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Stop if a signal has come: validations are long, and are done again after a resume."""
        if not self._training or not self._val_in_step:
            return
        if number := self._signals.agreed():
            for hook in runner.hooks:
                if isinstance(hook, EMAHook):
                    hook.after_val_epoch(runner)  # takes the mean out of the model again
            self._stop(runner, number, epoch=runner.epoch, iteration=runner.iter)

    def after_val_epoch(self, runner: Runner, metrics: Mapping[str, Any] | None = None) -> None:
        """Save the best, and the checkpoint from before the validation again, now validated."""
        if not self._training:
            return
        runner.message_hub.update_info(VALIDATED, runner.iter)
        saves = self._saves
        super().after_val_epoch(runner, metrics or {})
        if self._saves == saves and self._last_save and self._last_save[0] == runner.iter:
            self._write(runner, self._last_save[1], epoch=runner.epoch, iteration=runner.iter)

    def _save_checkpoint_with_step(self, runner: Runner, step: int, meta: dict[str, Any]) -> None:
        super()._save_checkpoint_with_step(runner, step, meta)
        if not self.failure:
            self._remove_within(runner, but=self.filename_tmpl.format(step))

    def _within_is_due(self, runner: Runner) -> bool:
        resumable = hasattr(runner.train_loop, "take_up")
        due = self.within_epoch > 0 and self.every_n_train_iters(runner, self.within_epoch)
        return self.by_epoch and resumable and due

    def _save_within(self, runner: Runner, *, epoch: int, iteration: int) -> bool:
        """Save within an epoch, in place of the last such checkpoint."""
        filename, told = f"iter_{iteration}.pth", runner.message_hub
        before = told.runtime_info.get(_WITHIN, [])
        told.update_info(_WITHIN, [*(old for old in before if old != filename), filename])
        if not self._write(runner, filename, epoch=epoch, iteration=iteration):
            told.update_info(_WITHIN, before)
            return False
        self._remove_within(runner, but=filename)
        return True

    def _remove_within(self, runner: Runner, *, but: str) -> None:
        told = runner.message_hub
        names = told.runtime_info.get(_WITHIN, [])
        for name in names:
            if name != but:
                self._remove(runner, self.file_backend.join_path(self.out_dir, name))
        if names:
            told.update_info(_WITHIN, [name for name in names if name == but])

    def _stop(self, runner: Runner, number: int, *, epoch: int, iteration: int) -> None:
        """Save where nothing is saved yet, and end.

        Raises:
            Stopped: always.
        """
        saved = self._last_save is not None and self._last_save[0] == iteration
        if not saved and self.by_epoch:
            saved = self._save_within(runner, epoch=epoch, iteration=iteration)
        elif not saved:
            meta = {"epoch": epoch, "iter": iteration}
            self._save_checkpoint_with_step(runner, iteration, meta)
            saved = not self.failure
        self.end()
        where = f"{self._newest} is whole" if self._newest else "there is no checkpoint"
        runner.logger.warning(
            f"{signal.Signals(number).name}: stopped after iteration {iteration}, "
            f"{'saved' if saved else 'NOT saved'}; {where}. Go on with --resume"
        )
        raise Stopped(number)

    def _write(self, runner: Runner, filename: str, *, epoch: int, iteration: int) -> bool:
        self._gathered = all_gather_object(self._states or random_states.capture())
        self._pending = pending_gradients(runner)
        saved = super()._write(runner, filename, epoch=epoch, iteration=iteration)
        self._gathered, self._pending = None, {}
        if saved:
            self._last_save = (iteration, filename)
            self._saves += 1
        return saved

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict[str, Any]) -> None:
        """Add the random states of all processes, and gradients that wait for more."""
        if self._gathered is not None:
            checkpoint[random_states.NAME] = self._gathered
            if self._pending:
                checkpoint[GRADIENTS] = self._pending
