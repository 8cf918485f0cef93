"""What is kept, what is removed when, and what happens where nothing can be written."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.engine import whole_files
from swin_mm.engine.safe_loading import allow_safe_reading


class Killed(BaseException):
    """Ends a run at once."""


@pytest.fixture(autouse=True)
def safe_reading(own_mmengine: None) -> None:
    allow_safe_reading()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a disk takes root")
    yield folder
    subprocess.run(["umount", "-l", folder], capture_output=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.pth*"))


def fill(disk: Path) -> None:
    descriptor = os.open(disk / "fill", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(descriptor, bytes(4096))
    except OSError as error:
        assert error.errno == errno.ENOSPC
    os.close(descriptor)


def warnings_of(runner: object) -> list[str]:
    said: list[str] = []
    runner.logger.warning = lambda text, *_: said.append(str(text))
    return said


def test_the_oldest_is_removed_only_when_the_new_one_is_named(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = os.replace, []

    def replace(before: str, after: str) -> None:
        real(before, after)
        seen.append((os.path.basename(after), names(tmp_path)))

    monkeypatch.setattr(whole_files.os, "replace", replace)
    toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=1, val_interval=9)
    second = [there for name, there in seen if name == "last_checkpoint"][1]
    assert second == ["iter_2.pth", "iter_4.pth"]
    assert names(tmp_path) == ["iter_10.pth"]


def test_what_a_kill_kept_from_being_removed_goes_after_the_resume(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    one = toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=2, build_only=True)
    hook = next(hook for hook in one.hooks if type(hook).__name__ == "SafeCheckpointHook")
    monkeypatch.setattr(hook, "_remove", killed)
    with pytest.raises(Killed):
        one.train()
    assert names(tmp_path) == ["iter_2.pth", "iter_4.pth", "iter_6.pth"]
    newest = tmp_path / "iter_6.pth"
    toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=2, resume=newest)
    assert names(tmp_path) == ["iter_10.pth", "iter_8.pth"]


def test_a_half_written_file_of_a_killed_run_is_cleared_away(
    toy_run: Callable, tmp_path: Path
) -> None:
    (tmp_path / "iter_7.pth.part").write_bytes(b"half")
    toy_run(tmp_path)
    assert names(tmp_path) == ["epoch_1.pth", "epoch_2.pth"]


@pytest.mark.parametrize("save_best", ["auto", "toy/distance", ["toy/distance"]])
def test_the_best_is_saved_and_the_last_best_removed(
    save_best: object, toy_run: Callable, tmp_path: Path
) -> None:
    run = toy_run(tmp_path, "iteration", interval=5, save_best=save_best, rule="less")
    info = run.message_hub.runtime_info
    scores = run.message_hub.log_scalars["val/toy/distance"].data[0]
    assert info["best_score"] == min(scores)
    (best,) = tmp_path.glob("best_*.pth")
    assert (str(best), best.name[:18]) == (info["best_ckpt"], "best_toy_distance_")
    content = read_checkpoint(best)
    assert "optimizer" not in content and "random_states" not in content
    kept = read_checkpoint(tmp_path / "iter_10.pth")["message_hub"]["runtime_info"]
    assert kept["best_score"] == min(scores)


def test_a_metric_that_is_not_measured_is_answered_with_those_near(
    toy_run: Callable, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"toy/distanc is none; did you mean toy/distance"):
        toy_run(tmp_path, save_best="toy/distanc", rule="less")


def test_a_full_disk_is_told_of_and_the_training_goes_on(toy_run: Callable, disk: Path) -> None:
    acts = {
        ("before_train_iter", 5): lambda: fill(disk),
        ("before_train_iter", 8): lambda: os.unlink(disk / "fill"),
    }
    run = toy_run(disk, "iteration", interval=3, val_interval=9, acts=acts, build_only=True)
    said = warnings_of(run)
    run.train()
    (told,) = [text for text in said if "iter_6.pth" in text]
    assert "No space left on device (0.0 MB free there)" in told
    assert f"{disk}/iter_3.pth is whole. The training goes on" in told
    assert names(disk) == ["iter_10.pth", "iter_3.pth", "iter_9.pth"]
    for name in names(disk):
        read_checkpoint(disk / name)
    assert (disk / "last_checkpoint").read_text() == str(disk / "iter_10.pth")


def test_a_full_disk_stops_a_training_that_is_to_stop_then(toy_run: Callable, disk: Path) -> None:
    acts = {("before_train_iter", 4): lambda: fill(disk)}
    with pytest.raises(CheckpointError, match=r"iter_6\.pth could not .*iter_3\.pth is whole"):
        toy_run(disk, "iteration", interval=3, val_interval=9, acts=acts, on_failure="stop")
    assert names(disk) == ["iter_3.pth"]


def test_a_training_whose_end_is_not_saved_is_an_error(toy_run: Callable, disk: Path) -> None:
    acts = {("before_train_iter", 8): lambda: fill(disk)}
    with pytest.raises(CheckpointError, match="the training is done, but not saved"):
        toy_run(disk, "iteration", interval=3, val_interval=9, acts=acts)
    assert names(disk) == ["iter_3.pth", "iter_6.pth"]


def test_a_folder_that_becomes_read_only_is_told_of(toy_run: Callable, disk: Path) -> None:
    def remount(how: str) -> Callable:
        return lambda: subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)

    acts = {("before_train_iter", 5): remount("ro"), ("before_train_iter", 8): remount("rw")}
    run = toy_run(disk / "a", "iteration", interval=3, val_interval=9, acts=acts, build_only=True)
    said = warnings_of(run)
    for handler in run.logger.handlers:
        handler.close()  # a log that is open for writing keeps a disk from being made read-only
    run.logger.handlers.clear()
    run.train()
    assert any("Read-only file system" in text and "iter_3.pth is whole" in text for text in said)
    assert names(disk / "a") == ["iter_10.pth", "iter_3.pth", "iter_9.pth"]


@pytest.mark.parametrize("within", ["", "work"])
def test_a_disk_that_vanishes_is_told_of_and_nothing_is_left_in_its_place(
    within: str, toy_run: Callable, disk: Path
) -> None:
    def vanish() -> None:
        subprocess.run(["umount", "-l", disk], check=True)

    acts = {("before_train_iter", 4): vanish}
    run = toy_run(
        disk / within, "iteration", interval=3, val_interval=9, acts=acts, build_only=True
    )
    said = warnings_of(run)
    with pytest.raises(CheckpointError, match="not saved"):
        run.train()
    reasons = ("its folder is gone", "on another disk than when the training began")
    (told,) = [text for text in said if "iter_6.pth" in text]
    assert any(reason in told for reason in reasons)
    assert list(disk.rglob("*.pth*")) == []


def test_a_checkpoint_that_only_code_can_read_is_warned_of(
    toy_run: Callable, tmp_path: Path
) -> None:
    run = toy_run(tmp_path, build_only=True)
    said = warnings_of(run)
    run.message_hub.update_info("mine", print)
    run.train()
    assert len([text for text in said if "will take --unsafe" in text]) == 1
