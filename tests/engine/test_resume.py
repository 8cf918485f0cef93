"""Going on."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.resume import choose_resume

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path, detector: Config) -> Save:
    """Save a small checkpoint into the work dir; later ones are older, as files go."""
    folder = tmp_path / "work [1]"
    folder.mkdir()
    detector.work_dir = str(folder)

    def saved(name: str, iteration: int, time: str = "20260101_000000", **more: object) -> Path:
        content = {"meta": {"iter": iteration, "time": time}, "message_hub": {}, **more}
        torch.save(content, folder / name)
        os.utime(folder / name, (10**9 - iteration,) * 2)
        return folder / name

    return saved


def name_last(path: Path) -> None:
    (path.parent / "last_checkpoint").write_text(str(path))


def cut(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def chosen(detector: Config, notes: Notes) -> str | None:
    choose_resume(detector, "auto", notes)
    return detector.load_from and os.path.basename(detector.load_from)


def test_auto_takes_the_checkpoint_that_is_named_last(
    detector: Config, save: Save, notes: Notes
) -> None:
    save("iter_2000.pth", 2000, "20251231_000000")  # of an older, longer run
    name_last(save("iter_900.pth", 900))
    save("iter_800.pth", 800)
    assert chosen(detector, notes) == "iter_900.pth"
    assert detector.resume


def test_one_that_begins_anew_beside_anothers_checkpoints_warns(
    detector: Config, save: Save, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    choose_resume(detector, None, notes)
    assert capsys.readouterr().err == ""
    save("iter_2.pth", 2)
    save("iter_10.pth", 10)
    choose_resume(detector, None, notes)
    assert "iter_10.pth is there. This one begins anew" in capsys.readouterr().err
    assert not detector.get("resume")


def test_a_later_one_is_taken_that_a_kill_kept_from_being_named(
    detector: Config, save: Save, notes: Notes
) -> None:
    name_last(save("epoch_1.pth", 900, "20260101_000000"))
    save("iter_1000.pth", 1000, "20260101_000500")
    assert chosen(detector, notes) == "iter_1000.pth"


def test_one_saved_later_and_trained_less_is_not_taken(
    detector: Config, save: Save, notes: Notes
) -> None:
    name_last(save("iter_1000.pth", 1000))
    save("epoch_1.pth", 900, "20260101_000500")  # once more, after a validation
    assert chosen(detector, notes) == "iter_1000.pth"


def test_of_two_trained_as_far_the_later_is_taken(
    detector: Config, save: Save, notes: Notes
) -> None:
    save("epoch_1.pth", 900, "20260101_000000")
    save("iter_900.pth", 900, "20260101_000500")
    assert chosen(detector, notes) == "iter_900.pth"
    save("epoch_1.pth", 900, "20260101_000900")
    assert chosen(detector, notes) == "epoch_1.pth"


def test_a_name_that_is_no_text_is_no_name(detector: Config, save: Save, notes: Notes) -> None:
    (save("iter_900.pth", 900).parent / "last_checkpoint").write_bytes(b"\xff\xfe")
    assert chosen(detector, notes) == "iter_900.pth"


def test_a_file_whose_parts_end_early_breaks_off(
    detector: Config,
    save: Save,
    notes: Notes,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    def ends(_: object) -> None:
        raise EOFError

    save("iter_900.pth", 900)
    monkeypatch.setattr("zipfile.ZipFile.testzip", ends)
    assert chosen(detector, notes) is None
    assert "iter_900.pth breaks off" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_broken_one_is_named_and_the_one_trained_furthest_is_taken(
    damage: str, detector: Config, save: Save, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    save("iter_900.pth", 900)
    save("iter_1000.pth", 1000)
    broken = save("iter_1100.pth", 1100, state_dict={"weight": torch.zeros(100)})
    name_last(broken)
    if damage == "cut":
        cut(broken)
    elif damage == "flip":
        content = bytearray(broken.read_bytes())
        content[content.index(bytes(200)) + 100] ^= 1
        broken.write_bytes(content)
    else:
        broken.write_bytes(b"")
    assert chosen(detector, notes) == "iter_1000.pth"
    told = capsys.readouterr().err
    assert "iter_1100.pth" in told and "passing it over" in told
    assert ("is damaged" if damage == "flip" else "breaks off") in told


def test_a_work_dir_that_was_copied_is_gone_on_from_where_it_is(
    detector: Config, save: Save, notes: Notes, tmp_path: Path
) -> None:
    name_last(save("iter_900.pth", 900))
    save("iter_800.pth", 800)
    shutil.copytree(detector.work_dir, tmp_path / "copy")
    detector.work_dir = str(tmp_path / "copy")
    assert chosen(detector, notes) == "iter_900.pth"
    assert detector.load_from == str(tmp_path / "copy/iter_900.pth")


def test_without_a_name_the_one_trained_furthest_is_taken(
    detector: Config, save: Save, notes: Notes
) -> None:
    save("iter_10000.pth", 10000)
    save("epoch_9.pth", 9000)
    assert chosen(detector, notes) == "iter_10000.pth"


def test_checkpoints_of_another_name_and_folder_are_found(
    detector: Config, save: Save, notes: Notes, tmp_path: Path
) -> None:
    hook = detector.default_hooks.checkpoint
    hook.filename_tmpl, hook.out_dir = "mine_{}.pth", str(tmp_path / "out")
    there = tmp_path / "out/work [1]"
    there.mkdir(parents=True)
    shutil.move(save("mine_7.pth", 7), there)
    assert chosen(detector, notes) == "mine_7.pth"


@pytest.mark.parametrize("name", ["best_mIoU_iter_5.pth", "iter_5-abcd1234.pth", "iter_5.pth.part"])
def test_what_is_no_checkpoint_of_a_run_is_not_looked_at(
    name: str, detector: Config, save: Save, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    save(name, 5)
    assert chosen(detector, notes) is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "beside",
    [{}, {"meta": {"iter": 9}}, {"meta": None, "message_hub": {}}, {"meta": {}, "message_hub": {}}],
)
def test_weights_alone_are_passed_over(
    beside: dict, detector: Config, save: Save, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    torch.save({"state_dict": {}, **beside}, Path(detector.work_dir, "iter_9.pth"))
    save("iter_5.pth", 5)
    assert chosen(detector, notes) == "iter_5.pth"
    assert "iter_9.pth holds weights alone" in capsys.readouterr().err


def test_one_that_wants_to_run_code_is_not_passed_over_in_silence(
    detector: Config, save: Save, notes: Notes
) -> None:
    name_last(save("iter_9.pth", 9, more=print))
    with pytest.raises(UsageError, match=r"wants to call[\s\S]*remove the file"):
        choose_resume(detector, "auto", notes)
    choose_resume(detector, "auto", notes, unsafe=True)
    assert detector.load_from.endswith("iter_9.pth")


def test_a_config_that_resumes_is_treated_alike(detector: Config, save: Save, notes: Notes) -> None:
    path = save("iter_5.pth", 5)
    detector.resume = True
    choose_resume(detector, None, notes)
    assert detector.load_from == str(path)


def test_auto_starts_at_the_beginning_of_an_empty_work_dir(
    detector: Config, tmp_path: Path, notes: Notes
) -> None:
    detector.work_dir = str(tmp_path / "new")
    choose_resume(detector, "auto", notes)
    assert (detector.resume, detector.load_from) == (False, None)


def test_a_missing_file_is_answered_with_those_there(
    detector: Config, save: Save, notes: Notes
) -> None:
    save("iter_1000.pth", 1000)
    with pytest.raises(UsageError, match=r"no file nowhere\.pth.*iter_1000\.pth"):
        choose_resume(detector, "nowhere.pth", notes)


def test_without_a_wish_nothing_is_resumed(detector: Config, save: Save, notes: Notes) -> None:
    save("iter_1000.pth", 1000)
    choose_resume(detector, None, notes)
    assert not detector.resume
