"""Recipes shortened to so many iterations."""

import pytest
import torch
from mmengine.config import Config
from mmengine.hooks import LoggerHook
from mmengine.optim import LinearLR, OptimWrapper
from mmengine.registry import PARAM_SCHEDULERS

from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.schedule import shorten


def rates(cfg: Config, iterations: int) -> list[float]:
    """Step MMEngine's own schedulers and read the rate that each iteration trains with."""
    lr = cfg.optim_wrapper.optimizer.lr
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    wrapper = OptimWrapper(optimizer)
    schedulers = [
        PARAM_SCHEDULERS.build(dict(one), default_args={"optimizer": wrapper})
        for one in cfg.param_scheduler
    ]
    met = []
    for _ in range(iterations):
        met.append(optimizer.param_groups[0]["lr"] / lr)
        wrapper.step()
        for scheduler in schedulers:
            scheduler.step()
    return met


def test_the_steps_keep_their_share_of_the_run(detector: Config, notes: Notes) -> None:
    shorten(detector, 120, (), notes)
    met = rates(detector, 120)
    assert met[0] == pytest.approx(0.001)
    assert met[11:90] == pytest.approx([1.0] * 79)  # warm-up: a tenth of the run
    assert met[90:110] == pytest.approx([0.1] * 20)  # 27 of 36 epochs
    assert met[110:] == pytest.approx([0.01] * 10)  # 33 of 36 epochs


def test_the_linear_fall_ends_with_the_run(segmentor: Config, notes: Notes) -> None:
    shorten(segmentor, 200, (), notes)
    met = rates(segmentor, 200)
    assert met[0] == pytest.approx(1e-6)
    assert met[100] == pytest.approx(0.5, abs=0.01)
    assert met[199] == pytest.approx(0.0, abs=0.01)


def test_a_warm_up_is_never_prolonged(detector: Config, notes: Notes) -> None:
    shorten(detector, 100_000, (), notes)
    assert detector.param_scheduler[0]["end"] == 500


def test_schedulers_and_hooks_may_be_named_by_their_classes(detector: Config, notes: Notes) -> None:
    detector.param_scheduler[0]["type"] = LinearLR
    detector.default_hooks.logger["type"] = LoggerHook
    shorten(detector, 120, (), notes)
    assert rates(detector, 12)[0] == pytest.approx(0.001)
    assert detector.default_hooks.logger["type"] == "swin_mm.EvenLoggerHook"


def test_a_hook_that_is_left_out_stays_out(detector: Config, notes: Notes) -> None:
    detector.default_hooks.logger = detector.default_hooks.checkpoint = None
    shorten(detector, 120, (), notes)
    assert detector.default_hooks.logger is None is detector.default_hooks.checkpoint
    assert detector.log_processor.window_size == 6


def test_a_run_too_short_for_a_warm_up_has_none(detector: Config, notes: Notes) -> None:
    shorten(detector, 8, (), notes)
    assert [one["type"] for one in detector.param_scheduler] == ["MultiStepLR"]


def test_it_validates_and_saves_at_the_end_and_logs_some_twenty_lines(
    detector: Config, notes: Notes
) -> None:
    shorten(detector, 200, (), notes)
    assert detector.train_cfg == {
        "type": "IterBasedTrainLoop",
        "max_iters": 200,
        "val_interval": 200,
    }
    assert detector.default_hooks.checkpoint.interval == 200
    assert not detector.default_hooks.checkpoint.by_epoch
    assert detector.default_hooks.logger.interval == 10
    assert detector.train_dataloader.sampler.type == "InfiniteSampler"


def test_what_the_user_sets_stands(detector: Config, notes: Notes) -> None:
    detector.merge_from_dict(
        {
            "train_cfg.val_interval": 7,
            "param_scheduler.0.end": 50,
            "default_hooks.logger.interval": 3,
            "default_hooks.checkpoint.interval": 4,
        }
    )
    given = (
        "train_cfg.val_interval",
        "param_scheduler.0.end",
        "default_hooks.logger.interval",
        "default_hooks.checkpoint.interval",
    )
    shorten(detector, 100, given, notes)
    assert detector.train_cfg.val_interval == 7
    assert detector.param_scheduler[0]["end"] == 50
    assert detector.default_hooks.logger.interval == 3
    assert detector.default_hooks.checkpoint.interval == 4


def test_no_iterations_are_refused(detector: Config, notes: Notes) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        shorten(detector, 0, (), notes)


def test_a_scheduler_that_counts_otherwise_is_refused(detector: Config, notes: Notes) -> None:
    detector.param_scheduler.append(
        {"type": "CosineAnnealingLR", "by_epoch": False, "begin": 1000, "end": 9000}
    )
    with pytest.raises(UsageError, match=r"param_scheduler\.2"):
        shorten(detector, 100, (), notes)
