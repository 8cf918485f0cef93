import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "make_scenes.py"
SMALL = ("--images", "2", "--val", "1", "--size", "64x64")


@pytest.fixture
def make_scenes(monkeypatch):
    """The tool's main, with arguments instead of a command line; its exit code."""
    spec = importlib.util.spec_from_file_location("make_scenes", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    def run(*arguments: str | Path) -> int:
        monkeypatch.setattr(sys, "argv", ["make_scenes.py", *map(str, arguments)])
        try:
            return tool.main()
        except SystemExit as left:  # argparse's way
            return left.code

    run.tool = tool
    return run


def test_it_writes_scenes_and_names_the_next_command(make_scenes, tmp_path, capsys):
    out = tmp_path / "my scenes"
    assert make_scenes(out, *SMALL) == 0
    said, progress = capsys.readouterr()
    assert f"2 + 1 scenes: {out}" in said
    assert f"--weights none --data-root '{out}'" in said
    assert "3/3" in progress
    assert (out / "contact_sheet.png").is_file()


def test_scenes_are_replaced_only_by_force(make_scenes, tmp_path, capsys):
    assert make_scenes(tmp_path / "out", *SMALL) == 0
    assert make_scenes(tmp_path / "out", *SMALL) == 2
    assert "--force" in capsys.readouterr().err
    assert make_scenes(tmp_path / "out", *SMALL, "--force") == 0


def test_a_tenth_is_held_out_unless_told(make_scenes, tmp_path, capsys):
    assert make_scenes(tmp_path / "out", "--images", "23", "--size", "64x64") == 0
    assert "23 + 2 scenes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (("--images", "0"), "1 to 999999, not 0"),
        (("--size", "64"), "WIDTHxHEIGHT in px, such as 320x240, not '64'"),
        (("--size", "axb"), "WIDTHxHEIGHT in px"),
        (("--size", "8x64"), "64 to 4096 px, not 8x64"),
        (("--jobs", "0"), "1 or more, not 0"),
        (("--seed", "x"), "invalid int value"),
    ],
)
def test_a_wrong_argument_is_told_with_exit_code_2(make_scenes, tmp_path, capsys, wrong, rule):
    assert make_scenes(tmp_path / "out", *SMALL, *wrong) == 2
    assert rule in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_and_says_so(make_scenes, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("swin_mm.data.writer.render_scene", interrupted)
    assert make_scenes(tmp_path / "out", *SMALL) == 130
    assert "nothing was written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_one_message_without_a_traceback(tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path / "file" / "out"), *SMALL],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(TOOL.parents[1])},
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("make_scenes: ")
    assert "Traceback" not in done.stderr
