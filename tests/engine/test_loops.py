"""Loops that go on in the middle."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from swin_mm.engine.finite import NonFiniteError
from swin_mm.engine.safe_loading import allow_safe_reading


class Killed(BaseException):
    """Ends a run at once, as a kill does, for all that is on the disk."""


@pytest.fixture(autouse=True)
def safe_reading(own_mmengine: None) -> None:
    allow_safe_reading()


def killed() -> None:
    raise Killed


def spoil(layer: torch.nn.Module) -> None:
    layer.register_forward_hook(lambda _, __, out: out * float("nan"))


def weights(runner: object) -> list[float]:
    return torch.cat([one.flatten() for one in runner.model.parameters()]).tolist()


CASES = [
    ("epoch", ("after_train_iter", 2), "iter_3.pth"),
    ("epoch", ("after_train_iter", 4), "iter_5.pth"),
    ("epoch", ("before_val_iter", 5), "epoch_1.pth"),
    ("epoch", ("before_train_iter", 7), "iter_7.pth"),
    ("iteration", ("after_train_iter", 2), "iter_3.pth"),
    ("iteration", ("before_val_iter", 5), "iter_5.pth"),
    ("iteration", ("before_train_iter", 7), "iter_7.pth"),
]


@pytest.mark.parametrize(("loop", "when", "newest"), CASES)
def test_a_run_taken_up_anywhere_ends_with_the_same_bits(
    loop: str, when: tuple[str, int], newest: str, toy_run: Callable, tmp_path: Path
) -> None:
    calm = toy_run(tmp_path / "calm", loop, within_epoch=1)
    with pytest.raises(Killed):
        toy_run(tmp_path / "killed", loop, within_epoch=1, acts={when: killed})
    again = toy_run(tmp_path / "killed", loop, within_epoch=1, resume=tmp_path / "killed" / newest)
    assert weights(again) == weights(calm)


@pytest.mark.parametrize("loop", ["epoch", "iteration"])
@pytest.mark.parametrize("at", [5, 7])
def test_a_run_taken_up_before_a_number_that_was_not_finite_begins_with_that_batch(
    loop: str, at: int, toy_run: Callable, tmp_path: Path
) -> None:
    calm = toy_run(tmp_path / "calm", loop)
    stopped = toy_run(
        tmp_path / "stopped",
        loop,
        acts={("before_train_iter", at): lambda: spoil(stopped.model.linear)},
        custom_hooks=[{"type": "swin_mm.FiniteHook"}],
        build_only=True,
    )
    with pytest.raises(NonFiniteError):
        stopped.train()
    kept = tmp_path / "stopped" / f"before_iter_{at + 1}.pth"
    assert weights(toy_run(tmp_path / "stopped", loop, resume=kept)) == weights(calm)


@pytest.mark.parametrize("loop", ["epoch", "iteration"])
def test_the_seed_of_the_sampler_comes_from_the_checkpoint(
    loop: str, toy_run: Callable, tmp_path: Path
) -> None:
    first = toy_run(tmp_path / "first", loop, seed=None, within_epoch=1)
    kept = tmp_path / "first" / ("epoch_1.pth" if loop == "epoch" else "iter_5.pth")
    again = toy_run(tmp_path / "again", loop, seed=None, resume=kept)
    assert again.train_loop.batches.sampler.seed == first.train_loop.batches.sampler.seed
    assert weights(again) == weights(first)


def test_a_validation_that_was_cut_off_comes_first(toy_run: Callable, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        toy_run(tmp_path, acts={("before_val_iter", 5): killed})
    done = []
    again = toy_run(
        tmp_path,
        resume=tmp_path / "epoch_1.pth",
        acts={
            ("before_val_iter", 5): lambda: done.append("validation"),
            ("before_train_iter", 5): lambda: done.append("training"),
        },
    )
    assert done[0] == "validation" and done[-1] == "training"
    assert len(again.message_hub.log_scalars["val/toy/distance"].data[0]) == 2


def test_a_validation_that_was_done_is_not_done_again(toy_run: Callable, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        toy_run(tmp_path, acts={("before_train_iter", 5): killed})
    done = []
    validated = {("before_val_iter", 5): lambda: done.append("validation")}
    toy_run(tmp_path, resume=tmp_path / "epoch_1.pth", acts=validated)
    assert done == []


def test_validating_changes_nothing_of_the_training(toy_run: Callable, tmp_path: Path) -> None:
    often = toy_run(tmp_path / "often", "iteration", val_interval=1)
    seldom = toy_run(tmp_path / "seldom", "iteration", val_interval=2)
    assert weights(often) == weights(seldom)


def test_an_iteration_loop_passes_over_the_data_again_and_again(
    toy_run: Callable, tmp_path: Path
) -> None:
    def finite(name: str, resume: Path | None = None) -> object:
        one = toy_run(tmp_path / name, "iteration", resume=resume, build_only=True)
        one._train_dataloader["sampler"] = {"type": "DefaultSampler"}
        one._train_loop["dataloader"] = one._train_dataloader
        one.train()
        return one

    def finite_loop(runner: object) -> bool:
        return type(runner.train_loop.batches.sampler).__name__ == "DefaultSampler"

    calm = finite("calm")
    assert finite_loop(calm)
    assert calm.train_loop.batches.sampler.epoch == 1  # the second pass has an order of its own
    for newest in ("iter_3.pth", "iter_5.pth", "iter_8.pth"):
        assert weights(finite("again", tmp_path / "calm" / newest)) == weights(calm)
