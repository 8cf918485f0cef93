"""Every command in the pages is run by a test that is named here, or marked as needing more.

A mark is an HTML comment on the line above a fence, `<!-- needs a card -->`. What stands under one
is still read by the tool's own parser.
"""

import argparse
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from swin_mm.engine import run_tool

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
PAGES += tuple(sorted(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md")))
MARKS = {"needs a card", "needs the network", "needs those wheels"}
SHELL = {"", "bash", "console", "sh"}
FENCE = re.compile(r"^(?:<!-- ([^>\n]+) -->\n)?```([^`\n]*)\n(.*?)^```$", re.M | re.S)
PROGRAMS = (
    r"python3?|\S+/python\S*|make|torchrun|srun|pip|git|source|mkdir|cp|export|docker|apt|bash"
)
START = re.compile(rf"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:{PROGRAMS}|(?:tools|benchmarks)/\S+)(?: |$)")

# Commands whose page has a test that runs each of its lines, shrunk.
RUN_BY_PAGE = {
    "docs/recipes.md": "tests/docs/test_recipes.py::test_every_command_runs",
    "docs/tutorial_detection.md": "tests/docs/test_tutorials.py::"
    "test_a_newcomer_comes_from_nothing_to_predictions",
    "docs/tutorial_segmentation.md": "tests/docs/test_tutorials.py::"
    "test_a_newcomer_comes_from_nothing_to_predictions",
}
# All others, the first that matches: who runs such a command.
TRAIN, TOOLS = "tests/tools/test_train.py::", "tests/tools/"
RUN_BY = {
    r"torchrun .*tools/train\.py": "tests/distributed/test_torchrun.py::test_two_processes",
    r"srun .*tools/train\.py": f"{TRAIN}test_two_tasks_of_slurm_train_a_detector_together",
    r"python tools/train\.py": f"{TRAIN}test_a_run_shows_its_progress",
    r"python tools/test\.py": f"{TOOLS}test_test.py::test_the_config_that_training_wrote_tests",
    r"python tools/infer\.py": f"{TOOLS}test_infer.py::test_a_training_leaves_what_infer_takes",
    r"python tools/export\.py": f"{TOOLS}test_export.py::test_a_trained_detectors_maps",
    r"python tools/report\.py": f"{TOOLS}test_report.py::test_a_detectors_page_has",
    r"python tools/draw\.py": f"{TOOLS}test_draw.py::test_",
    r"python tools/doctor\.py": f"{TOOLS}test_doctor.py::test_all_is_well_in_the_environment",
    r"python tools/check_data\.py": f"{TOOLS}test_check_data.py::test_sound_data_end_with_0",
    r"python tools/make_scenes\.py": f"{TOOLS}test_make_scenes.py::test_it_writes_scenes",
    r"python tools/(inspect|convert)_checkpoint\.py": f"{TOOLS}test_checkpoints.py::"
    "test_a_file_is_converted_there_and_back",
    r"make( [a-z-]+)?( [A-Z_]+=\S+)*$": "tests/test_makefile.py::test_make_alone_lists",
    r"pip install \.$": "tests/test_packaging.py::test_the_wheel_holds",
    r"python setup\.py -q build_ext": "tests/test_packaging.py::test_kernels_of_changed_sources",
    r'pip install "\.\[[a-z,]+\]"$': "tests/docs/test_commands.py::test_every_extra",
    r"source \.venv/bin/activate$": "tests/docs/test_commands.py::test_make_leaves",
    r"benchmarks/gpu\.sh": "tests/benchmarks/test_gpu.py::test_the_script_goes_through",
    r"\.venv/bin/python benchmarks/backbone\.py": "tests/benchmarks/test_backbone.py::test_a_cell",
    r"python -m doctest docs/walkthrough\.md": "tests/docs/test_walkthrough.py::test_every_example",
}
# Measurements of hours: their parts are tested, and they are parsed below.
MEASURED = r"\.venv/bin/python benchmarks/(\w+)\.py"


@dataclass(frozen=True)
class Command:
    """A command line of a page."""

    page: str
    line: str
    mark: str

    def __str__(self) -> str:
        return f"{self.page}: {self.line}"


def commands(page: str, text: str) -> Iterator[Command]:
    """The command lines of a page, comments behind them and prompts before them cut off."""
    for mark, language, code in FENCE.findall(text):
        for line in code.replace("\\\n", " ").splitlines() if language in SHELL else ():
            if START.match(line):
                line = " ".join(line.removeprefix("$ ").partition(" #")[0].split(" "))
                yield Command(page, line.strip(), mark)


EVERY = [one for page in PAGES for one in commands(page, (ROOT / page).read_text("utf-8"))]


def run_by(command: Command) -> str:
    """The test that runs a command; empty if none is named."""
    if command.page in RUN_BY_PAGE:
        return RUN_BY_PAGE[command.page]
    return next((test for what, test in RUN_BY.items() if re.match(what, command.line)), "")


@pytest.mark.parametrize("command", EVERY, ids=str)
def test_a_command_is_run_by_a_test_or_marked(command):
    if command.mark:
        assert command.mark in MARKS
        return
    named = run_by(command)
    if not named and (script := re.match(MEASURED, command.line)):
        named = f"tests/benchmarks/test_{script[1]}.py::test_"
        if not (ROOT / named.partition("::")[0]).exists():
            pytest.skip(f"benchmarks/{script[1]}.py is run by hand, and its results are committed")
    file, _, test = named.partition("::")
    assert named, f"name the test that runs it, or mark it: {command}"
    assert f"def {test}" in (ROOT / file).read_text("utf-8"), named


class ParsedError(Exception):
    """A tool's command line has been read; nothing was done."""


@pytest.fixture
def parse(monkeypatch, capsys):
    """Let a tool's own parser read a command line, and stop there; return what it complains of."""
    read = argparse.ArgumentParser.parse_known_args

    def stop(self, args=None, namespace=None):
        parsed, unknown = read(self, args, namespace)
        if not unknown:
            raise ParsedError
        return parsed, unknown

    def parsed(words: list[str]) -> str:
        monkeypatch.chdir(ROOT)
        monkeypatch.setattr(sys, "argv", words)
        monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", stop)
        try:
            tool = runpy.run_path(str(ROOT / words[0]), run_name="parsed")
            run_tool(tool["main"])
        except ParsedError:
            return ""
        except SystemExit:
            pass
        return capsys.readouterr().err or "it has no parser"

    return parsed


def tool_of(line: str) -> list[str]:
    """The words from a tool of ours on, without the program that starts it."""
    words = shlex.split(line)
    starts = [n for n, word in enumerate(words) if re.fullmatch(r"tools/\w+\.py", word)]
    return words[starts[0] :] if starts else []


@pytest.mark.parametrize("command", [one for one in EVERY if tool_of(one.line)], ids=str)
def test_a_tool_reads_its_command_line(command, parse):
    assert parse(tool_of(command.line)) == ""


def test_what_a_tool_does_not_take_is_seen(parse):
    assert "--max-iter" in parse(["tools/train.py", "configs/upernet_swin_t.py", "--max-iter", "3"])
    assert "--out" in parse(["tools/infer.py", "a.py", "b.pth", "c.jpg"])


@pytest.mark.parametrize("command", EVERY, ids=str)
def test_configs_and_scripts_that_are_named_exist(command):
    folders = r"(?<![\w/])(?:configs|tools|benchmarks|requirements)/"
    named = re.findall(folders + r"[\w/]+\.(?:py|sh|txt)", command.line)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_an_unlisted_command_is_found_in_any_dress():
    text = "```\nmake love\n```\n```console\n$ python tools/none.py  # so\n```\n"
    text += "```{toctree}\nexport\n```\n```bash\nA=1 pip x \\\n y\n```\n"
    text += "<!-- needs a card -->\n```sh\ntorchrun a\n```\n"
    found = list(commands("page.md", text))
    lines = ["make love", "python tools/none.py", "A=1 pip x   y", "torchrun a"]
    assert [one.line for one in found] == lines
    assert [run_by(one) for one in found][1:] == ["", "", ""]
    assert [one.mark for one in found] == ["", "", "", "needs a card"]
    text = "```python\nmake = 1\n```\n```\nmakefile\n3/3 done\n```\n"
    assert list(commands("page.md", text)) == []


def test_every_target_of_make_exists():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for command in EVERY:
        if match := re.match(r"make ([a-z-]+)", command.line):
            assert match[1] in targets, command


def test_every_extra_is_the_package_s():
    extras = re.findall(r'^        "(\w+)": ', (ROOT / "setup.py").read_text("utf-8"), re.M)
    asked = {extra for one in EVERY for found in re.findall(r"\.\[([a-z,]+)\]", one.line)
             for extra in found.split(",")}  # fmt: skip
    assert asked and asked <= set(extras)


def test_make_leaves_what_is_sourced():
    script = (ROOT / "tools/setup_env.sh").read_text("utf-8")
    assert "'') name=.venv " in script and "venv=$PWD/$name\n" in script


def test_every_tool_has_its_command_on_the_page_of_tools():
    page = (ROOT / "docs/tools.md").read_text("utf-8")
    shown = {tool_of(one.line)[0] for one in EVERY if one.page == "docs/tools.md"}
    tools = {f"tools/{file.name}" for file in (ROOT / "tools").glob("*.py")}
    assert all(tool in page for tool in tools)
    assert shown == tools - {"tools/mmcv_ops.py", "tools/draw_walkthrough.py", "tools/audit.py"}
    assert all(f"tools/{file.name}" in page for file in (ROOT / "tools").glob("*.sh"))
