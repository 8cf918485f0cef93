"""Going on."""

import os
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.resume import choose_resume


@pytest.fixture
def work_dir(tmp_path: Path, detector: Config) -> Path:
    """Three checkpoints, the last of them cut off."""
    folder = tmp_path / "work [1]"
    folder.mkdir()
    for age, name in enumerate(["iter_900.pth", "iter_1000.pth", "iter_1100.pth"]):
        torch.save({"meta": {}}, folder / name)
        os.utime(folder / name, (age, age))
    whole = (folder / "iter_1100.pth").read_bytes()
    (folder / "iter_1100.pth").write_bytes(whole[: len(whole) // 2])
    (folder / "last_checkpoint").write_text(str(folder / "iter_1100.pth"))
    detector.work_dir = str(folder)
    return folder


def test_auto_takes_the_newest_that_is_whole(
    detector: Config, work_dir: Path, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    choose_resume(detector, "auto", notes)
    assert (detector.resume, detector.load_from) == (True, str(work_dir / "iter_1000.pth"))
    assert "iter_1100.pth breaks off" in capsys.readouterr().err


def test_a_config_that_resumes_is_treated_alike(
    detector: Config, work_dir: Path, notes: Notes
) -> None:
    detector.resume = True
    choose_resume(detector, None, notes)
    assert detector.load_from == str(work_dir / "iter_1000.pth")


def test_auto_starts_at_the_beginning_of_an_empty_work_dir(
    detector: Config, tmp_path: Path, notes: Notes
) -> None:
    detector.work_dir = str(tmp_path / "new")
    choose_resume(detector, "auto", notes)
    assert (detector.resume, detector.load_from) == (False, None)


def test_a_missing_file_is_answered_with_those_there(
    detector: Config, work_dir: Path, notes: Notes
) -> None:
    with pytest.raises(UsageError, match=r"no file nowhere\.pth.*iter_1000\.pth"):
        choose_resume(detector, "nowhere.pth", notes)


def test_without_a_wish_nothing_is_resumed(detector: Config, work_dir: Path, notes: Notes) -> None:
    choose_resume(detector, None, notes)
    assert not detector.resume
