"""Test a checkpoint: metrics, pictures, predictions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mmengine.config import Config
from torch import distributed

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine.any_checkpoint import AnyCheckpointHook
from swin_mm.engine.channels import match_channels
from swin_mm.engine.config import allow_no_workers, default_work_dir, import_host, read_config
from swin_mm.engine.datasets import point_data_at, require_data
from swin_mm.engine.errors import UsageError
from swin_mm.engine.image_scale import scale_pictures
from swin_mm.engine.launch import (
    choose_device,
    needs_operators,
    start_processes,
    take_place,
    use_device,
)
from swin_mm.engine.notes import Notes, is_first_process
from swin_mm.engine.options import merge_options
from swin_mm.engine.pictures import PredictionPictures
from swin_mm.engine.predictions import PredictionFile, require_place, writer_for
from swin_mm.engine.report import RunRecord, format_report
from swin_mm.engine.runner import QuietRunner
from swin_mm.engine.safe_loading import allow_safe_reading

_NEEDS = ("model.backbone", "test_dataloader.dataset", "test_evaluator")


def test(
    config: str,
    checkpoint: str,
    *,
    work_dir: str | None = None,
    data_root: str | None = None,
    image_scale: float | None = None,
    tta: bool = False,
    show_dir: str | None = None,
    out: str | None = None,
    force: bool = False,
    options: Mapping[str, Any] | None = None,
    unsafe: bool = False,
    launcher: str = "none",
) -> None:
    """Evaluate a checkpoint on a config's test data and report.

    Args:
        config: a config file.
        checkpoint: a file or URL.
        work_dir: where logs go; `test` in the config's work dir by default.
        data_root: where the data lies, in place of the config's.
        image_scale: factor of every picture size, as in training.
        tta: average over the scales and flips of the config's `tta_pipeline`.
        show_dir: draw every picture, truth beside prediction, into this folder.
        out: write the predictions to this `.json` or `.pkl`.
        force: whether an older file of that name is replaced.
        options: settings of the config by dotted key.
        unsafe: run the code that the checkpoint wants to run.
        launcher: `none`, `pytorch`, `slurm` or `mpi`.

    Raises:
        UsageError: if something asked for cannot be done.
    """
    allow_safe_reading(unsafe=unsafe)  # before anything of the hosts is built
    take_place(launcher)
    notes = Notes(is_first_process(launcher))
    options = options or {}
    cfg = read_config(config, needs=_NEEDS)
    if image_scale is not None:
        scale_pictures(cfg, image_scale, notes)
    merge_options(cfg, options, notes)
    trained_in = cfg.get("work_dir") or default_work_dir(config)
    cfg.work_dir = work_dir or os.path.join(trained_in, "test")
    if "://" not in checkpoint and not os.path.isfile(checkpoint):
        raise UsageError(f"there is no checkpoint {checkpoint}")
    if out is not None:
        require_place(out, force=force)
    if data_root is not None:
        point_data_at(cfg, data_root, ("train", "val", "test"), notes)
    require_data(cfg, ("test",))
    if tta and not (cfg.get("tta_model") and cfg.get("tta_pipeline")):
        raise UsageError(
            f"--tta needs tta_model and tta_pipeline in the config, {config} has none. For a "
            "detector, masks or not: tta_model=dict(type='swin_mm.InstanceTTAModel'), and a "
            "tta_pipeline as in configs/_base_/datasets/coco_instance.py"
        )
    allow_no_workers(cfg)
    import_host(cfg)
    cfg.load_from, cfg.resume = checkpoint, False
    device = choose_device(needs_operators(cfg))
    use_device(device, cfg, notes)
    start_processes(launcher, device, cfg)
    try:
        match_channels(cfg, options, notes)
        if tta:
            _augment(cfg)
        _run(cfg, notes, show_dir=show_dir, out=out, unsafe=unsafe)
        if distributed.is_initialized():
            distributed.barrier()  # nobody leaves while another still writes, or holds the store
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _augment(cfg: Config) -> None:
    """Test every picture in several versions, as MMEngine's test-time augmentation does."""
    cfg.test_dataloader.dataset.pipeline = cfg.tta_pipeline
    cfg.model = {**cfg.tta_model, "module": cfg.model}


def _run(cfg: Config, notes: Notes, *, show_dir: str | None, out: str | None, unsafe: bool) -> None:
    runner = QuietRunner.from_cfg(cfg)
    runner.must_fit = True
    runner.register_hook(AnyCheckpointHook(unsafe=unsafe, must_fill=True))
    record = RunRecord()
    runner.register_hook(record, priority="LOW")
    pictures = PredictionPictures(show_dir) if show_dir else None
    if pictures is not None:
        runner.register_hook(pictures, priority="LOW")
    if out is not None:
        writer = writer_for(out)
        evaluator, dataset = runner.test_loop.evaluator, runner.test_dataloader.dataset
        writer.dataset_meta = evaluator.dataset_meta
        if isinstance(writer, PredictionFile):
            writer.category_ids = getattr(dataset, "cat_ids", ())
        evaluator.metrics.append(writer)
    runner.speak(notes)
    try:
        runner.test()
    except CheckpointError as error:
        raise UsageError(str(error)) from error
    if notes.speaks:
        paths = {
            "pictures": [] if pictures is None else [show_dir],
            "predictions": out or "",
            "log": runner.log_dir,
        }
        tested = len(runner.test_dataloader.dataset)
        took = timedelta(seconds=int(record.seconds))
        title = f"Tested {cfg.load_from} on {tested} picture{'s' * (tested != 1)} in {took}."
        print(format_report(title, metrics=record.metrics, paths=paths), flush=True)
