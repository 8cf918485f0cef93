"""Train what a config describes, from the command line's wishes to the report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mmengine.config import Config
from torch import distributed

from swin_mm.checking import skip_broken as leave_out_broken
from swin_mm.checkpoints import CheckpointError
from swin_mm.engine.any_checkpoint import AnyCheckpointHook
from swin_mm.engine.channels import match_channels
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.config import (
    allow_no_workers,
    as_list,
    default_work_dir,
    import_host,
    read_config,
    type_of,
)
from swin_mm.engine.datasets import look_at_data, point_data_at, require_data
from swin_mm.engine.errors import RunError, UsageError
from swin_mm.engine.finite import FiniteHook, NonFiniteError
from swin_mm.engine.image_scale import scale_pictures
from swin_mm.engine.launch import (
    Device,
    choose_device,
    needs_operators,
    start_processes,
    take_place,
    use_device,
)
from swin_mm.engine.notes import Notes, is_first_process
from swin_mm.engine.options import merge_options
from swin_mm.engine.pictures import PredictionPictures
from swin_mm.engine.report import RunRecord, format_report
from swin_mm.engine.resume import choose_resume
from swin_mm.engine.runner import QuietRunner
from swin_mm.engine.safe_loading import allow_safe_reading
from swin_mm.engine.schedule import shorten
from swin_mm.engine.survival import use_resumable_loop, use_safe_checkpoints
from swin_mm.engine.weights import choose_weights, fetch_weights

_NEEDS = ("model.backbone", "train_dataloader.dataset", "train_cfg", "optim_wrapper")


def train(
    config: str,
    *,
    work_dir: str | None = None,
    data_root: str | None = None,
    weights: str | None = None,
    max_iters: int | None = None,
    image_scale: float | None = None,
    amp: bool = False,
    ema: bool = False,
    resume: str | None = None,
    auto_scale_lr: bool = False,
    seed: int | None = None,
    check: bool = True,
    skip_broken: bool = False,
    options: Mapping[str, Any] | None = None,
    unsafe: bool = False,
    launcher: str = "none",
) -> None:
    """Train, validate, save, draw and report.

    Args:
        config: a config file.
        work_dir: where everything goes; `work_dirs/` and the config's name by default.
        data_root: where the data lies, in place of the config's.
        weights: a file or URL that the backbone starts with, and the whole model if the file holds
            one; `none`; or the config's by default.
        max_iters: train so many iterations, the schedule shrunk in proportion.
        image_scale: factor of every picture size of the recipe.
        amp: mixed precision, on a GPU.
        ema: average the weights over the iterations; validation and the checkpoint take the mean.
        resume: a checkpoint to go on from, or `auto` for the newest in the work dir.
        auto_scale_lr: scale the rate by the batch over the recipe's batch.
        seed: of all random numbers; drawn and logged by default.
        check: look at the data first: every record, and a sample of the pictures.
        skip_broken: leave out and count pictures that cannot be loaded, in training.
        options: settings of the config by dotted key.
        unsafe: run the code that weight files want to run.
        launcher: `none`, `pytorch`, `slurm` or `mpi`.

    Raises:
        UsageError: if something asked for cannot be done, before anything slow begins.
    """
    allow_safe_reading(unsafe=unsafe)  # before anything of the hosts is built
    take_place(launcher)
    notes = Notes(is_first_process(launcher))
    options = options or {}
    cfg = read_config(config, needs=_NEEDS)
    if image_scale is not None:
        scale_pictures(cfg, image_scale, notes)
    use_safe_checkpoints(cfg)  # before options are checked against the hook's arguments
    merge_options(cfg, options, notes)
    cfg.work_dir = work_dir or cfg.get("work_dir") or default_work_dir(config)
    if data_root is not None:
        point_data_at(cfg, data_root, ("train", "val", "test"), notes)
    require_data(cfg, ("train", "val"))
    choose_resume(cfg, resume, notes, unsafe=unsafe)
    choose_weights(cfg, weights, notes, unsafe=unsafe)
    if max_iters is not None:
        shorten(cfg, max_iters, options, notes)
    use_resumable_loop(cfg, notes)
    if ema:
        _average_weights(cfg)
    if seed is not None:
        cfg.randomness = {**cfg.get("randomness", {}), "seed": seed}
    allow_no_workers(cfg)
    import_host(cfg)
    if check and notes.speaks:
        look_at_data(cfg, notes, skipping=skip_broken)
    if skip_broken:
        leave_out_broken(cfg)
    device = choose_device(needs_operators(cfg))
    if amp:
        _mix_precision(cfg, device)
    use_device(device, cfg, notes)
    start_processes(launcher, device, cfg)
    try:
        _scale_rate(cfg, auto_scale_lr, notes)
        match_channels(cfg, options, notes)
        _run(cfg, notes, weights=weights, unsafe=unsafe)
        if distributed.is_initialized():
            distributed.barrier()  # nobody leaves while another still writes, or holds the store
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _run(cfg: Config, notes: Notes, *, weights: str | None, unsafe: bool) -> None:
    fetch_weights(cfg, weights, notes, unsafe=unsafe)
    runner = QuietRunner.from_cfg(cfg)
    record = RunRecord(os.path.join(runner.work_dir, "loss.png"))
    pictures = PredictionPictures(os.path.join(runner.work_dir, "predictions"))
    runner.register_hook(record, priority="LOW")
    runner.register_hook(pictures, priority="LOW")
    runner.speak(notes)
    runner.logger.info(f"Seed: {runner.seed}. All else: {runner.log_dir}")
    runner.must_fit = bool(cfg.get("resume"))
    if not any(isinstance(hook, FiniteHook) for hook in runner.hooks):  # a config may set its own
        runner.register_hook(FiniteHook())
    runner.register_hook(AnyCheckpointHook(unsafe=unsafe, must_fill=runner.must_fit))
    try:
        runner.train()
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    except NonFiniteError as error:
        raise RunError(str(error)) from error
    finally:
        for hook in runner.hooks:
            if isinstance(hook, SafeCheckpointHook):
                hook.end()
    if notes.speaks:
        print(
            format_report(
                f"Trained {record.span} in {timedelta(seconds=int(record.seconds))}.",
                metrics=record.metrics,
                paths={
                    "checkpoint": runner.message_hub.runtime_info.get("last_ckpt", ""),
                    "loss curve": record.curve,
                    "predictions": pictures.paths,
                    "log": runner.log_dir,
                },
            ),
            flush=True,
        )


def _mix_precision(cfg: Config, device: Device) -> None:
    if device.name == "cpu":
        raise UsageError(
            f"--amp needs a GPU, where MMEngine scales the loss: {device.reason}. Leave it out"
        )
    cfg.optim_wrapper["type"] = "AmpOptimWrapper"
    cfg.optim_wrapper.setdefault("loss_scale", "dynamic")


def _average_weights(cfg: Config) -> None:
    """Add MMEngine's moving average, unless the config has one.

    One whose span grows with the run, to 5000 iterations: a plain one of that span would hold the
    first, random weights of a short run for long.
    """
    hooks = as_list(cfg.get("custom_hooks"))
    if not any(type_of(hook) == "EMAHook" for hook in hooks):
        mean = {"type": "EMAHook", "ema_type": "MomentumAnnealingEMA", "momentum": 0.0002}
        cfg.custom_hooks = [*hooks, mean]


def _scale_rate(cfg: Config, scale: bool, notes: Notes) -> None:
    """Let MMEngine scale the learning rate to the batch, or say that it is not the recipe's."""
    base = (cfg.get("auto_scale_lr") or {}).get("base_batch_size")
    processes = 1 if cfg.launcher == "none" else int(os.environ["WORLD_SIZE"])
    batch = cfg.train_dataloader.batch_size * processes
    if scale and base is None:
        raise UsageError(
            "--auto-scale-lr needs auto_scale_lr.base_batch_size, the batch that the config's "
            "rate is meant for: --cfg-options auto_scale_lr.base_batch_size=16"
        )
    if scale:
        cfg.auto_scale_lr["enable"] = True
    elif base is not None and base != batch:
        notes.say(
            f"Batch: {batch}, the recipe's rate is meant for {base}; --auto-scale-lr would "
            f"multiply it by {batch / base:g}"
        )
