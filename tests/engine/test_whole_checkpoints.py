"""What is kept, what is removed when, and what happens where nothing can be written."""

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from mmengine.fileio import LocalBackend

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.engine import whole_checkpoints, whole_files
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.safe_loading import allow_safe_reading


class Killed(BaseException):
    """Ends a run at once."""


@pytest.fixture(autouse=True)
def safe_reading(own_mmengine: None) -> None:
    allow_safe_reading()


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


def hook_of(runner: object) -> SafeCheckpointHook:
    return next(hook for hook in runner.hooks if isinstance(hook, SafeCheckpointHook))


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
    run = toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=1, val_interval=9)
    assert seen[3] == ("last_checkpoint", ["iter_2.pth", "iter_4.pth"])
    assert names(tmp_path) == ["iter_10.pth"]
    assert run.message_hub.runtime_info["keep_ckpt_ids"] == [10]


def test_what_a_kill_kept_from_being_removed_goes_after_the_resume(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise Killed

    one = toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=2, build_only=True)
    monkeypatch.setattr(hook_of(one), "_remove", killed)
    with pytest.raises(Killed):
        one.train()
    assert names(tmp_path) == ["iter_2.pth", "iter_4.pth", "iter_6.pth"]
    newest = tmp_path / "iter_6.pth"
    toy_run(tmp_path, "iteration", interval=2, max_keep_ckpts=2, resume=newest)
    assert names(tmp_path) == ["iter_10.pth", "iter_8.pth"]


def test_a_half_written_file_is_cleared_away(toy_run: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "lr [0.1]"
    folder.mkdir()
    (folder / "iter_7.pth.part").write_bytes(b"half")
    (folder / "film.part").write_bytes(b"mine")
    toy_run(folder)
    assert names(folder) == ["epoch_1.pth", "epoch_2.pth"]
    assert (folder / "film.part").is_file()


def test_checkpoints_go_where_the_hook_is_told(toy_run: Callable, tmp_path: Path) -> None:
    toy_run(tmp_path / "work", out_dir=str(tmp_path / "out"), published_keys="state_dict")
    there = names(tmp_path / "out/work")
    assert [name[:8] for name in there] == ["epoch_1.", "epoch_2-", "epoch_2."]  # published, too
    assert not names(tmp_path / "work")
    theirs = {"backend": "local"}
    run = toy_run(tmp_path / "work", backend_args=theirs, build_only=True)
    hook_of(run).before_train(run)
    assert hook_of(run).backend_args == theirs


def test_a_storage_behind_an_address_is_left_to_mmengine(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_checkpoints.CheckpointHook, "before_train", lambda *_: None)
    run = toy_run(tmp_path, build_only=True, out_dir="s3://bucket")
    hook_of(run).file_backend = LocalBackend()
    hook_of(run).before_train(run)
    assert hook_of(run).backend_args is None


def test_what_is_not_to_be_saved_is_not(toy_run: Callable, tmp_path: Path) -> None:
    run = toy_run(tmp_path, save_optimizer=False, save_param_scheduler=False, build_only=True)
    run.param_schedulers = {"type": "ConstantLR"}
    run.train()
    assert not {"optimizer", "param_schedulers"} & set(read_checkpoint(tmp_path / "epoch_2.pth"))


@pytest.mark.parametrize("save_best", ["auto", "toy/distance", ["toy/distance"]])
def test_the_best_is_saved_and_the_last_best_removed(
    save_best: object, toy_run: Callable, tmp_path: Path
) -> None:
    run = toy_run(tmp_path, "iteration", interval=5, save_best=save_best, rule="less")
    info = run.message_hub.runtime_info
    scores = run.message_hub.log_scalars["val/toy/distance"].data[0]
    assert info["best_score"] == min(scores)
    (best,) = tmp_path.glob("best_*.pth")
    assert str(best) == info["best_ckpt"] == hook_of(run).best_ckpt_path
    assert best.name.startswith("best_toy_distance_")
    content = read_checkpoint(best)
    assert "optimizer" not in content and "random_states" not in content
    kept = read_checkpoint(tmp_path / "iter_10.pth")["message_hub"]["runtime_info"]
    assert kept["best_score"] == min(scores)


def test_a_new_best_is_also_a_checkpoint_to_go_on_from(toy_run: Callable, tmp_path: Path) -> None:
    best = {"save_best": "toy/distance", "rule": "less"}
    toy_run(tmp_path / "later", "iteration", interval=4, max_keep_ckpts=1, **best)
    assert "iter_10.pth" in names(tmp_path / "later")  # saved twice, and not taken for older
    seen = []
    acts = {("before_train_iter", 7): lambda: seen.extend(names(tmp_path / "mid"))}
    toy_run(tmp_path / "mid", "iteration", interval=4, acts=acts, **best)
    assert seen == ["best_toy_distance_iter_5.pth", "iter_4.pth", "iter_5.pth"]
    toy_run(tmp_path / "first", "iteration", interval=99, **best)
    assert "iter_5.pth" not in names(tmp_path / "first")  # the run has saved nothing yet


def test_each_metric_has_its_best(toy_run: Callable, tmp_path: Path) -> None:
    wanted = ["a/up", "a/down"]
    run = toy_run(tmp_path, build_only=True, save_best=wanted, rule=["greater", "less"])
    hook = hook_of(run)
    hook.before_train(run)
    for metrics in ({"a/up": 0.5, "a/down": None}, {"a/up": 0.4, "a/down": 3.0}):
        hook._save_best_checkpoint(run, metrics)
    info = run.message_hub.runtime_info
    assert (info["best_score_a/up"], info["best_score_a/down"]) == (0.5, 3.0)
    assert sorted(map(os.path.basename, hook.best_ckpt_path_dict.values())) == names(tmp_path)
    hook._save_best_checkpoint(run, {"a/up": 0.6, "a/down": 3.0})  # of the same epoch: in place
    assert names(tmp_path) == ["best_a_down_epoch_0.pth", "best_a_up_epoch_0.pth"]
    assert info["best_score_a/up"] == 0.6
    hook.last_ckpt = "some.pth"
    hook._save_best_checkpoint(run, {"a/up": 0.0, "a/down": 9.0})
    assert len(names(tmp_path)) == 2  # nothing is better, and nothing saved


def test_an_unknown_metric_is_answered_with_those_near(toy_run: Callable, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"toy/distanc is none; did you mean toy/distance"):
        toy_run(tmp_path, save_best="toy/distanc", rule="less")


def test_a_full_disk_is_told_of_and_the_training_goes_on(toy_run: Callable, disk: Path) -> None:
    seen = []
    acts = {
        ("before_train_iter", 5): lambda: fill(disk),
        ("before_train_iter", 7): lambda: seen.append(dict(info, own=hook_of(run).last_ckpt)),
        ("before_train_iter", 8): lambda: os.unlink(disk / "fill"),
    }
    given = {"interval": 3, "val_interval": 9, "max_keep_ckpts": 9}
    run = toy_run(disk, "iteration", acts=acts, build_only=True, **given)
    said, info = warnings_of(run), run.message_hub.runtime_info
    run.train()
    (told,) = [text for text in said if "iter_6.pth" in text]
    assert "No space left on device (0.0 MB free there)" in told
    assert f"{disk}/iter_3.pth is whole. The training goes on" in told
    assert names(disk) == ["iter_10.pth", "iter_3.pth", "iter_9.pth"]
    for name in names(disk):
        read_checkpoint(disk / name)
    assert (disk / "last_checkpoint").read_text() == str(disk / "iter_10.pth")
    assert seen[0]["keep_ckpt_ids"] == [3]
    assert seen[0]["last_ckpt"] == seen[0]["own"] == str(disk / "iter_3.pth")


def test_a_full_disk_stops_a_training_that_is_to_stop_then(
    toy_run: Callable, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(free=1234567890)
    monkeypatch.setattr(whole_checkpoints.shutil, "disk_usage", lambda _: room)
    acts = {("before_train_iter", 4): lambda: fill(disk)}
    told = r"iter_6\.pth could not .*1,234\.6 MB free.*iter_3\.pth is whole"
    with pytest.raises(CheckpointError, match=told):
        toy_run(disk, "iteration", interval=3, val_interval=9, acts=acts, on_failure="stop")
    assert names(disk) == ["iter_3.pth"]


@pytest.mark.parametrize("gone", [False, True])
def test_a_resumed_run_that_cannot_save_names_what_it_came_from(
    gone: bool, toy_run: Callable, tmp_path: Path, disk: Path
) -> None:
    old = tmp_path / "old/epoch_1.pth"
    toy_run(old.parent, val_interval=9)
    given = {"acts": {("before_train_iter", 6): lambda: fill(disk)}, "on_failure": "stop"}
    run = toy_run(disk, resume=old, build_only=True, **given)
    run.load_or_resume()
    if gone:
        old.unlink()
    whole = "No checkpoint is there yet" if gone else rf"{old} is whole"
    with pytest.raises(CheckpointError, match=whole):
        run.train()


def test_what_another_process_could_not_write_stops_this_one_too(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(failures: list) -> None:
        failures[0] = "the first process has no room"

    monkeypatch.setattr(whole_checkpoints, "broadcast_object_list", told)
    with pytest.raises(CheckpointError, match="the first process has no room"):
        toy_run(tmp_path, on_failure="stop")


def test_removing_is_the_first_processs_and_no_matter_if_it_fails(
    toy_run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(_: str) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    run = toy_run(tmp_path)
    hook, said = hook_of(run), warnings_of(run)
    hook._remove(run, str(tmp_path / "gone.pth"))
    assert not said
    monkeypatch.setattr(hook.file_backend, "remove", stuck)
    hook._remove(run, str(tmp_path / "epoch_1.pth"))
    assert said == [f"{tmp_path}/epoch_1.pth could not be removed: not yours"]
    monkeypatch.setattr(whole_checkpoints, "is_main_process", lambda: False)
    hook._remove(run, str(tmp_path / "epoch_1.pth"))
    assert len(said) == 1


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


def test_what_only_code_can_read_is_warned_of(toy_run: Callable, tmp_path: Path) -> None:
    run = toy_run(tmp_path, build_only=True)
    said = warnings_of(run)
    run.message_hub.update_info("mine", print)
    run.train()
    assert len([text for text in said if "will take --unsafe" in text]) == 1
