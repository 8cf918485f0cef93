"""The config of a run beside the one that it began with."""

import os
from pathlib import Path

import pytest

from swin_mm.engine.errors import UsageError
from swin_mm.reporting.configs import ABSENT, differences, read_run_config

BASE = "model = dict(depth=2, scales=[(1, 2), (3, 4)])\nload_from = None\nscale = 1\n"


@pytest.fixture
def work_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "a run"
    folder.mkdir()
    return folder


def test_changes_are_settings_that_a_run_reads() -> None:
    before = {"model": {"depth": 2, "kept": (1, 2)}, "scale": 1, "load_from": None, "work_dir": "a"}
    after = {
        "model": {"kept": [1, 2], "width": 8},
        "scale": 2,
        "load_from": "x.pth",
        "work_dir": "b",
    }
    assert [(one.key, one.before, one.after) for one in differences(before, after)] == [
        ("model.depth", "2", ABSENT),
        ("load_from", "None", "'x.pth'"),
        ("model.width", ABSENT, "8"),
    ]


@pytest.mark.parametrize("name", ["model_wrapper_cfg", "find_unused_parameters", "sync_bn"])
def test_what_is_read_beside_the_runners_arguments_is_a_change_too(name: str) -> None:
    (change,) = differences({}, {name: "other"})
    assert (change.key, change.after) == (name, "'other'")


def test_a_list_of_settings_is_compared_one_by_one_and_long_values_are_cut() -> None:
    before = {"param_scheduler": [{"end": 1}, {"end": 2}]}
    after = {"param_scheduler": [{"end": 1}, {"end": "y" * 300}]}
    (change,) = differences(before, after)
    assert change.key == "param_scheduler.1.end"
    assert (len(change.after), change.after[-1]) == (160, "…")


def test_a_run_is_compared_with_the_config_of_its_name(work_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BASE)
    (work_dir / "net.py").write_text(BASE.replace("depth=2", "depth=3"))
    config = read_run_config(str(work_dir), [str(tmp_path / "nowhere"), str(tmp_path)])
    assert config.base == str(tmp_path / "net.py")
    assert [(one.key, one.after) for one in config.changes] == [("model.depth", "3")]
    assert read_run_config(str(work_dir), []).base == ""


def test_the_newest_dump_counts_and_that_of_a_start_does_too(work_dir: Path) -> None:
    start = work_dir / "20260101_000000" / "vis_data"
    start.mkdir(parents=True)
    (start / "config.py").write_text(BASE)
    assert read_run_config(str(work_dir), []).path == str(start / "config.py")
    for age, name in enumerate(("new.py", "old.py")):
        (work_dir / name).write_text(BASE)
        os.utime(work_dir / name, (1000 - age, 1000 - age))
    assert read_run_config(str(work_dir), []).path == str(work_dir / "new.py")


def test_a_base_that_cannot_be_read_is_no_base(work_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("model = dict(")
    (work_dir / "net.py").write_text(BASE)
    assert read_run_config(str(work_dir), [str(tmp_path)]).base == ""


def test_a_run_without_a_config_is_an_error(work_dir: Path) -> None:
    with pytest.raises(UsageError, match="there is no config in"):
        read_run_config(str(work_dir), [])


def test_a_dump_that_was_cut_short_is_passed_over_for_an_older_one(work_dir: Path) -> None:
    older = work_dir / "20260101_000000" / "vis_data" / "config.py"
    older.parent.mkdir(parents=True)
    older.write_text(BASE)
    for cut in ("", "model = dict(dep", "load_from = None\n"):
        (work_dir / "net.py").write_text(cut)
        assert read_run_config(str(work_dir), []).path == str(older)
    older.unlink()
    with pytest.raises(UsageError, match=r"net\.py has no model: its dump was cut short"):
        read_run_config(str(work_dir), [])


def test_of_several_runs_in_one_folder_the_last_ones_config_is_read(work_dir: Path) -> None:
    for day, name in enumerate(("first", "last", "other"), 1):
        text = BASE + f"load_from = {name!r}\n"
        (work_dir / f"{name}.py").write_text(text)
        if name != "other":
            dump = work_dir / f"2026010{day}_000000" / "vis_data" / "config.py"
            dump.parent.mkdir(parents=True)
            dump.write_text(text)
    for age, name in enumerate(("other", "first", "last")):  # as a copy may leave them
        os.utime(work_dir / f"{name}.py", (1000 - age, 1000 - age))
    assert read_run_config(str(work_dir), []).path == str(work_dir / "last.py")
