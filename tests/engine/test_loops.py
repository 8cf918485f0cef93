"""Loops that go on in the middle."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine.finite import NonFiniteError
from swin_mm.engine.loops import _is_due
from swin_mm.engine.safe_loading import allow_safe_reading
from swin_mm.engine.seeded_batches import PlacedBatches


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


@pytest.mark.parametrize("diverse", [False, True])
def test_without_its_seed_a_sampler_takes_the_old_runs_unless_ranks_have_their_own(
    diverse: bool, toy_run: Callable, tmp_path: Path
) -> None:
    toy_run(tmp_path / "first", val_interval=9)
    content = read_checkpoint(tmp_path / "first/epoch_1.pth")
    del content["message_hub"]["runtime_info"]["sampler_seed"]  # as one of MMEngine's own loop
    torch.save(content, tmp_path / "old.pth")
    again = toy_run(
        tmp_path / "again", resume=tmp_path / "old.pth", seed=4, val_interval=9, build_only=True
    )
    again._randomness_cfg["diff_rank_seed"] = diverse
    again.train()
    assert (again.train_loop.batches.sampler.seed == 3) is not diverse


@pytest.mark.parametrize("fast", [False, True])
def test_the_data_start_from_the_beginning_where_mmengine_is_told_to_be_fast(
    fast: bool, toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_run(tmp_path, "iteration", val_interval=9)
    again = toy_run(
        tmp_path, "iteration", resume=tmp_path / "iter_8.pth", val_interval=9, build_only=True
    )
    again._train_loop = again.build_train_loop(again._train_loop)
    again.train_loop.fast_forward_on_resume = fast
    skipped, begin = [], PlacedBatches.begin

    def note(self: PlacedBatches, *, iteration: int, skip: int) -> int:
        skipped.append(skip)
        return begin(self, iteration=iteration, skip=skip)

    monkeypatch.setattr(PlacedBatches, "begin", note)
    again.train()
    assert skipped == [0 if fast else 8]


def test_a_loader_without_a_batch_is_an_error_and_no_endless_wait(
    toy_run: Callable, tmp_path: Path
) -> None:
    run = toy_run(tmp_path, "iteration", build_only=True)
    few = {"sampler": {"type": "DefaultSampler"}, "batch_size": 20, "drop_last": True}
    run._train_loop["dataloader"] = {**run._train_dataloader, **few}
    with pytest.raises(ValueError, match="needs a batch of data; the loader gives none"):
        run.train()


def test_validations_are_due_from_a_beginning_at_an_interval_and_at_the_end() -> None:
    due = [done for done in range(1, 11) if _is_due(done, 10, begin=5, interval=4)]
    assert due == [8, 10]
