"""What the README shows is what happens."""

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    every = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
    return [text for tag, text in every if tag == language]


def test_the_first_lines_print_what_stands_below_them():
    (code,) = blocks("python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == blocks("")[0]


def test_every_file_that_is_named_exists(root):
    named = re.findall(r"\]\(([\w./]+)\)", README)
    named += re.findall(r"`((?:configs|tests|tools|docs)/[\w./]+)`", README)
    named += re.findall(r"(?:configs|tools)/\w+\.py", README)
    assert len(named) > 12
    assert [name for name in named if not (root / name).exists()] == []


def test_every_target_of_make_exists(root):
    targets = set(re.findall(r"^make ([a-z-]+)", README, re.M))
    assert targets == {"train", "test"}
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in targets)


@pytest.mark.parametrize(
    "tool",
    ["train", "test", "infer", "draw", "make_scenes", "inspect_checkpoint", "convert_checkpoint"],
)
def test_every_option_shown_is_the_tools(root, tool, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"tools/{tool}.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(root / f"tools/{tool}.py"), run_name="__main__")
    told = capsys.readouterr().out
    lines = [line for line in README.splitlines() if f"tools/{tool}.py" in line]
    shown = {option for line in lines for option in re.findall(r"(?<= )--[\w-]+", line)}
    launchers = {"--nnodes", "--nproc-per-node", "--rdzv-backend", "--rdzv-endpoint"}
    launchers |= {"--nodes", "--ntasks-per-node", "--gres", "--kill-on-bad-exit"}
    assert [option for option in shown - launchers if option not in told] == []


def test_the_published_figures_are_those_of_the_configs(root):
    rows = re.findall(r"\| `(configs/\w+\.py)` \|[^|]*\| ([^|]*) \|", README)
    assert len(rows) == len(list((root / "configs").glob("*.py")))
    for config, figures in rows:
        docstring = (root / config).read_text(encoding="utf-8").split('"""')[1]
        for figure in re.findall(r"\d+\.\d+", figures):
            assert figure in docstring, (config, figure)
