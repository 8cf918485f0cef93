"""MMEngine's checkpoint hook, whose files are whole or not there and whose failures are told."""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Mapping, Sequence
from glob import escape, glob
from typing import Any

from mmengine.dist import broadcast_object_list, is_main_process
from mmengine.hooks import CheckpointHook
from mmengine.runner import Runner

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.engine.errors import near
from swin_mm.engine.resume import LAST
from swin_mm.engine.whole_files import PART, WHOLE_FILES, write_whole

_KEPT = "keep_ckpt_ids"  # MMEngine's own name
_ON_FAILURE = ("go_on", "stop")


class WholeCheckpointHook(CheckpointHook):
    """Write checkpoints beside and rename, remove old ones last, tell what cannot be written.

    The arguments up to `save_begin` are MMEngine's and mean the same.

    Args:
        on_failure: what a checkpoint that cannot be written means: `go_on`, warn and try again at
            the next one, or `stop`. At the end of the training it is an error in either case.
    """

    def __init__(
        self,
        interval: int = -1,
        by_epoch: bool = True,
        *,
        save_optimizer: bool = True,
        save_param_scheduler: bool = True,
        out_dir: str | None = None,
        max_keep_ckpts: int = -1,
        save_last: bool = True,
        save_best: str | list[str] | None = None,
        rule: str | list[str] | None = None,
        greater_keys: Sequence[str] | None = None,
        less_keys: Sequence[str] | None = None,
        filename_tmpl: str | None = None,
        backend_args: dict | None = None,
        published_keys: str | list[str] | None = None,
        save_begin: int = 0,
        on_failure: str = "go_on",
    ) -> None:
        super().__init__(
            interval,
            by_epoch,
            save_optimizer=save_optimizer,
            save_param_scheduler=save_param_scheduler,
            out_dir=out_dir,
            max_keep_ckpts=max_keep_ckpts,
            save_last=save_last,
            save_best=save_best,
            rule=rule,
            greater_keys=greater_keys,
            less_keys=less_keys,
            filename_tmpl=filename_tmpl,
            backend_args=backend_args,
            published_keys=published_keys,
            save_begin=save_begin,
        )
        if on_failure not in _ON_FAILURE:
            raise ValueError(
                f"on_failure must be one of {', '.join(_ON_FAILURE)}, got {on_failure!r}"
            )
        self.on_failure = on_failure
        self.failure = ""  # of the last save, nothing if there was none
        self._newest = ""  # that is known to be whole
        self._disk: int | None = None
        self._is_read = False

    def before_train(self, runner: Runner) -> None:
        """Find out where checkpoints go, and clear away what a killed run left half written."""
        if "://" not in str(self.out_dir or runner.work_dir) and self.backend_args is None:
            self.backend_args = {"backend": WHOLE_FILES}
        super().before_train(runner)
        before = runner.message_hub.runtime_info.get("last_ckpt") or ""
        self._newest = before if self.file_backend.isfile(before) else ""
        if self.backend_args == {"backend": WHOLE_FILES} and is_main_process():
            os.makedirs(self.out_dir, exist_ok=True)
            self._disk = os.stat(self.out_dir).st_dev
            for rest in glob(f"{escape(str(self.out_dir))}/*.pth{PART}"):
                self._remove(runner, rest)

    def after_train(self, runner: Runner) -> None:
        """Publish as MMEngine does.

        Raises:
            CheckpointError: if the last checkpoint could not be written.
        """
        if self.failure:
            raise CheckpointError(f"the training is done, but not saved: {self.failure}")
        super().after_train(runner)

    def _save_checkpoint_with_step(self, runner: Runner, step: int, meta: dict[str, Any]) -> None:
        """Save at a step of the interval, and only then remove what is more than is kept."""
        told = runner.message_hub
        before = told.runtime_info.get(_KEPT)
        limit = self.max_keep_ckpts
        kept = [*(old for old in self.keep_ckpt_ids if old != step), step] if limit > 0 else []
        if limit > 0:
            told.update_info(_KEPT, kept)  # untrimmed: a kill may keep the oldest from going
        filename = self.filename_tmpl.format(step)
        if not self._write(runner, filename, epoch=meta["epoch"], iteration=meta["iter"]):
            if limit > 0:
                told.update_info(_KEPT, before or [])
            return
        if limit > 0:
            self.keep_ckpt_ids = deque(kept, limit)
            told.update_info(_KEPT, list(self.keep_ckpt_ids))
            for old in kept[:-limit]:
                name = self.filename_tmpl.format(old)
                self._remove(runner, self.file_backend.join_path(self.out_dir, name))

    def _write(self, runner: Runner, filename: str, *, epoch: int, iteration: int) -> bool:
        """Save all that a run goes on from, and let `last_checkpoint` name it."""
        told, before = runner.message_hub, self.last_ckpt
        self.last_ckpt = self.file_backend.join_path(self.out_dir, filename)
        told.update_info("last_ckpt", self.last_ckpt)
        saved = self._try_to_save(runner, filename, {"epoch": epoch, "iter": iteration})
        if saved:
            self._newest = self.last_ckpt
        else:
            self.last_ckpt = before
            told.update_info("last_ckpt", before or "")
        return saved

    def _save_best_checkpoint(self, runner: Runner, metrics: Mapping[str, Any]) -> None:
        if not self.save_best:
            return
        if "auto" in self.key_indicators:
            self._init_rule(self.rules, [next(iter(metrics))])
        missing = [name for name in self.key_indicators if name not in metrics]
        if missing:
            raise ValueError(
                f"save_best must name metrics of the validation, {missing[0]} is none"
                f"{near(missing[0], metrics) or f'; there are {chr(44).join(metrics)}'}"
            )
        pairs = list(zip(self.key_indicators, self.rules, strict=True))
        better = [self._save_if_best(runner, name, rule, metrics[name]) for name, rule in pairs]
        if any(better) and self.last_ckpt is not None:
            step = runner.epoch if self.by_epoch else runner.iter
            meta = {"epoch": runner.epoch, "iter": runner.iter}
            self._save_checkpoint_with_step(runner, step, meta)

    def _save_if_best(self, runner: Runner, name: str, rule: str, score: float) -> bool:
        """Save the weights if a metric is better than ever, then remove the last best ones."""
        told, one = runner.message_hub, len(self.key_indicators) == 1
        suffix = "" if one else f"_{name}"
        best = told.runtime_info.get(f"best_score{suffix}", self.init_value_map[rule])
        if score is None or not self.is_better_than[name](score, best):
            return False
        before = told.runtime_info.get(f"best_ckpt{suffix}")
        step = runner.epoch if self.by_epoch else runner.iter
        filename = f"best_{name}_{self.filename_tmpl.format(step)}".replace("/", "_")
        meta = {"epoch": runner.epoch, "iter": runner.iter}
        if not self._try_to_save(runner, filename, meta, weights_alone=True):
            return False
        path = self.file_backend.join_path(self.out_dir, filename)
        told.update_info(f"best_score{suffix}", score)
        told.update_info(f"best_ckpt{suffix}", path)
        if one:
            self.best_ckpt_path = path
        else:
            self.best_ckpt_path_dict[name] = path
        runner.logger.info(f"Best {name} so far, {score:.4f}: {filename}")
        if before and before != path:
            self._remove(runner, before)
        return True

    def _try_to_save(
        self,
        runner: Runner,
        filename: str,
        meta: dict[str, Any],
        *,
        weights_alone: bool = False,
    ) -> bool:
        """Save in the first process, and tell all of them whether it could.

        Raises:
            CheckpointError: in all of them, if it could not and is to stop then.
        """
        failure = ""
        if is_main_process():
            try:
                self._require_the_same_disk()
                runner.save_checkpoint(
                    self.out_dir,
                    filename,
                    save_optimizer=self.save_optimizer and not weights_alone,
                    save_param_scheduler=self.save_param_scheduler and not weights_alone,
                    meta=meta,
                    backend_args=self.backend_args,
                )
                self._require_a_reader(runner, filename)
                if not weights_alone:
                    write_whole(os.path.join(runner.work_dir, LAST), self.last_ckpt.encode())
            except OSError as error:
                failure = self._explain(filename, error)
        told = [failure]
        broadcast_object_list(told)
        self.failure = told[0]
        if self.failure and self.on_failure == "stop":
            raise CheckpointError(self.failure)
        if self.failure:
            runner.logger.warning(f"{self.failure}. The training goes on, and tries again later")
        return not self.failure

    def _require_a_reader(self, runner: Runner, filename: str) -> None:
        """Warn, once, of what our reader refuses: a hook of the user's may have put it there."""
        if not self._is_read and self._disk is not None:
            try:
                read_checkpoint(os.path.join(self.out_dir, filename), map_location="meta")
            except CheckpointError as error:
                runner.logger.warning(f"to go on from this run will take --unsafe: {error}")
            self._is_read = True

    def _require_the_same_disk(self) -> None:
        """Refuse a folder that is left where a disk was: what is written there is soon lost."""
        if self._disk is not None and os.stat(self.out_dir).st_dev != self._disk:
            raise OSError(f"{self.out_dir} is on another disk than when the training began")

    def _explain(self, filename: str, error: OSError) -> str:
        """Say what went wrong, how much room there is, and what is still whole."""
        path = os.path.join(self.out_dir, filename)
        text = f"{path} could not be written: {error.strerror or error}"
        try:
            free = shutil.disk_usage(self.out_dir).free
            text += f" ({free / 1e6:,.1f} MB free there)"
        except OSError:
            text += " (its folder is gone)"
        newest = f"{self._newest} is whole" if self._newest else "No checkpoint is there yet"
        return f"{text}. {newest}"

    def _remove(self, runner: Runner, path: str) -> None:
        """Remove a file that is not needed any more; one that stays does no harm."""
        if not is_main_process():
            return
        try:
            if self.file_backend.isfile(path):
                self.file_backend.remove(path)
        except OSError as error:
            runner.logger.warning(f"{path} could not be removed: {error.strerror or error}")
