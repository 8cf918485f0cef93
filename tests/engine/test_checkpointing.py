"""Checkpoints from which a run goes on, and the one that a signal asks for."""

import errno
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mmengine.registry import HOOKS

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine import checkpointing
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.random_states import capture
from swin_mm.engine.safe_loading import allow_safe_reading
from swin_mm.engine.stopping import Stopped

EMA = {"type": "EMAHook", "momentum": 0.5}


@pytest.fixture(autouse=True)
def safe_reading(own_mmengine: None) -> None:
    allow_safe_reading()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.pth*")}


def send(name: str) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), signal.Signals[name])


def test_a_config_finds_the_hook_by_its_name() -> None:
    hook = HOOKS.build({"type": "swin_mm.SafeCheckpointHook", "interval": 4, "save_best": "mIoU"})
    assert (hook.interval, hook.by_epoch, hook.save_best) == (4, True, ["mIoU"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"on_failure": "ask"}, "on_failure must be one of go_on, stop, got 'ask'"),
        ({"within_epoch": -1}, "within_epoch must be a number of iterations"),
        ({"signals": ["SIGKILL"]}, "signals must be names of signals"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(given: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SafeCheckpointHook(**given)


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="max_keep_ckpt"):
        SafeCheckpointHook(max_keep_ckpt=3)


def test_saves_within_an_epoch_replace_each_other_and_the_epochs_the_last(
    toy_run: Callable, tmp_path: Path
) -> None:
    seen = {}
    acts = {
        ("after_train_iter", iteration): lambda i=iteration: seen.update({i: files(tmp_path)})
        for iteration in range(10)
    }
    toy_run(tmp_path, within_epoch=2, acts=acts)
    assert seen[0] == set()
    assert seen[1] == seen[2] == {"iter_2.pth"}
    assert seen[3] == {"iter_4.pth"}
    assert seen[5] == {"epoch_1.pth", "iter_6.pth"}
    assert files(tmp_path) == {"epoch_1.pth", "epoch_2.pth"}


def test_within_epoch_0_saves_at_the_end_of_epochs_alone(toy_run: Callable, tmp_path: Path) -> None:
    acts = {("after_train_iter", 4): lambda: files(tmp_path) and pytest.fail()}
    toy_run(tmp_path, within_epoch=0, acts=acts)


def test_a_loop_that_cannot_go_on_within_an_epoch_saves_none_there(
    toy_run: Callable, tmp_path: Path
) -> None:
    run = toy_run(tmp_path, within_epoch=2, build_only=True)
    run._train_loop["type"] = "EpochBasedTrainLoop"
    seen: set[str] = set()
    run.hooks[-1].acts = {("after_train_iter", 3): lambda: seen.update(files(tmp_path))}
    run.train()
    assert seen == set() and files(tmp_path) == {"epoch_1.pth", "epoch_2.pth"}


@pytest.mark.parametrize("loop", ["epoch", "iteration"])
@pytest.mark.parametrize("when", ["before_train_iter", "after_train_iter"])
def test_a_signal_is_answered_with_a_checkpoint_of_that_iteration(
    loop: str, when: str, toy_run: Callable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    iteration = 6 if when == "before_train_iter" else 5  # after the hook: in the one to come
    with pytest.raises(Stopped) as stopped:
        toy_run(tmp_path, loop, interval=4, acts={(when, iteration): send("SIGTERM")})
    assert stopped.value.code == 143
    meta = read_checkpoint(tmp_path / "iter_7.pth")["meta"]
    assert (meta["epoch"], meta["iter"]) == (1 if loop == "epoch" else 0, 7)
    assert (tmp_path / "last_checkpoint").read_text() == str(tmp_path / "iter_7.pth")


@pytest.mark.parametrize(
    ("loop", "kept"),
    [
        ("epoch", {"epoch_2.pth"}),
        ("iteration", {"iter_4.pth", "iter_7.pth", "iter_8.pth", "iter_10.pth"}),
    ],
)
def test_a_signals_checkpoint_goes_with_its_epoch_and_stays_in_a_run_of_iterations(
    loop: str, kept: set[str], toy_run: Callable, tmp_path: Path
) -> None:
    given = {"interval": 4, "val_interval": 9}
    with pytest.raises(Stopped):
        toy_run(tmp_path, loop, acts={("before_train_iter", 6): send("SIGTERM")}, **given)
    toy_run(tmp_path, loop, resume=tmp_path / "iter_7.pth", **given)
    assert files(tmp_path) == kept


@pytest.mark.parametrize("loop", ["epoch", "iteration"])
def test_a_signals_checkpoint_that_cannot_be_written_is_not_called_saved(
    loop: str, toy_run: Callable, tmp_path: Path
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    acts = {("before_train_iter", 2): send("SIGTERM")}
    run = toy_run(tmp_path, loop, interval=4, acts=acts, build_only=True)
    said: list[str] = []
    run.logger.warning, run.save_checkpoint = lambda text, *_: said.append(str(text)), full
    with pytest.raises(Stopped):
        run.train()
    assert "stopped after iteration 3, NOT saved; there is no checkpoint" in said[-1]
    assert not run.message_hub.runtime_info.get("within_epoch_ckpts")


def test_a_checkpoint_within_an_epoch_stays_while_the_epochs_cannot_be_written(
    toy_run: Callable, tmp_path: Path
) -> None:
    def full(out_dir: str, filename: str, **given: object) -> None:
        if filename == "epoch_1.pth":
            raise OSError(errno.ENOSPC, "No space left on device")
        save(out_dir, filename, **given)

    seen: set[str] = set()
    acts = {("before_train_iter", 5): lambda: seen.update(files(tmp_path))}
    run = toy_run(tmp_path, within_epoch=2, acts=acts, build_only=True)
    save, run.save_checkpoint = run.save_checkpoint, full
    run.train()
    assert seen == {"iter_4.pth"}


def test_a_validation_that_is_longer_in_another_process_is_not_stopped(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gathered(one: object) -> list:
        return [one, one + 1] if isinstance(one, int) else [one]  # batches, or random states

    monkeypatch.setattr(checkpointing, "all_gather_object", gathered)
    with pytest.raises(Stopped):
        toy_run(tmp_path, acts={("before_val_iter", 5): send("SIGTERM")})
    assert (tmp_path / "last_checkpoint").read_text().endswith("iter_6.pth")


def test_a_validation_alone_saves_nothing(toy_run: Callable, tmp_path: Path) -> None:
    run = toy_run(tmp_path, save_best="toy/distance", rule="less", build_only=True)
    assert run.val()["toy/distance"] > 0
    assert files(tmp_path) == set()


def test_a_signal_in_a_validation_stops_it_and_the_mean_is_not_taken_for_the_weights(
    toy_run: Callable, tmp_path: Path
) -> None:
    calm = toy_run(tmp_path / "calm", interval=2, custom_hooks=[EMA])
    with pytest.raises(Stopped) as stopped:
        acts = {("before_val_iter", 5): send("SIGINT")}
        toy_run(tmp_path / "asked", interval=2, custom_hooks=[EMA], acts=acts)
    assert stopped.value.code == 130
    newest = tmp_path / "asked/iter_5.pth"
    again = toy_run(tmp_path / "asked", interval=2, custom_hooks=[EMA], resume=newest)
    for one, other in zip(calm.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_only_the_signals_that_are_named_are_heard(toy_run: Callable, tmp_path: Path) -> None:
    with pytest.raises(Stopped) as stopped:
        acts = {("before_train_iter", 1): send("SIGUSR1")}
        toy_run(tmp_path, signals=["SIGUSR1"], acts=acts)
    assert stopped.value.code == 128 + signal.SIGUSR1
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_after_a_run_the_signals_are_the_users_again(toy_run: Callable, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    toy_run(tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_checkpoint_holds_the_random_states_of_each_process(
    toy_run: Callable, tmp_path: Path
) -> None:
    toy_run(tmp_path)
    (states,) = read_checkpoint(tmp_path / "epoch_1.pth")["random_states"]
    assert states.keys() == capture().keys()


def test_what_draws_between_two_iterations_changes_nothing(
    toy_run: Callable, tmp_path: Path
) -> None:
    calm = toy_run(tmp_path / "calm")
    draw = {("after_train_iter", 2): lambda: (torch.rand(7), random.random())}
    drawn = toy_run(tmp_path / "drawn", acts=draw)
    for one, other in zip(calm.model.parameters(), drawn.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_checkpoint_of_more_processes_is_gone_on_from_with_a_warning(
    toy_run: Callable, tmp_path: Path
) -> None:
    toy_run(tmp_path / "one")
    content = read_checkpoint(tmp_path / "one/epoch_1.pth")
    content["random_states"] *= 2
    torch.save(content, tmp_path / "two.pth")
    again = toy_run(tmp_path / "again", resume=tmp_path / "two.pth", build_only=True)
    warned = []
    again.logger.warning = warned.append
    again.train()
    assert any("one of 2 processes, here are 1" in str(text) for text in warned)


def test_the_best_of_a_run_of_epochs_is_called_by_its_epoch(
    toy_run: Callable, tmp_path: Path
) -> None:
    toy_run(tmp_path, save_best="toy/distance", rule="less")
    best, *others = sorted(files(tmp_path))
    assert best in {f"best_toy_distance_epoch_{number}.pth" for number in (1, 2)}
    assert others == ["epoch_1.pth", "epoch_2.pth"]


def test_a_checkpoint_is_written_again_after_its_validation(
    toy_run: Callable, tmp_path: Path
) -> None:
    toy_run(tmp_path, "iteration", interval=5)
    for iteration in (5, 10):
        info = read_checkpoint(tmp_path / f"iter_{iteration}.pth")["message_hub"]["runtime_info"]
        assert info["last_validated"] == iteration
