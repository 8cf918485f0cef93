"""The model zoo says what the configs, the published files and the measured steps say."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from model_facts import CONFIGS, ROOT


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the script, which reads the configs once."""
    spec = importlib.util.spec_from_file_location("print_zoo", ROOT / "docs/print_zoo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(script: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """Run the script as a user does."""

    def called(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["docs/print_zoo.py", *words])
        script.main()

    return called


@pytest.mark.parametrize("name", ["README.md", "docs/zoo.md"])
def test_the_pages_hold_what_is_printed(name: str, script: ModuleType) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    marks = {"README.md": ["zoo"], "docs/zoo.md": ["zoo", "published", "steps"]}[name]
    for mark in script.TABLES:
        assert page.count(f"<!-- {mark} -->") == (2 if mark in marks else 0)
    assert script.filled(page) == page, "python docs/print_zoo.py --write"


def test_every_config_has_a_row_with_its_own_figures(script: ModuleType) -> None:
    rows = dict(re.findall(r"^\| `configs/(\w+)\.py` (\|.*)$", script.zoo_table(), re.M))
    assert sorted(rows) == CONFIGS
    for name, row in rows.items():
        zoo = script.configs()[name].zoo
        for figure in zoo.published.values():
            assert f"{figure} " in row
        assert ("no published result" in row) == (not zoo.published)
        assert f"{zoo.params:.1f} M" in row
        assert zoo.flops is None or f"{zoo.flops:g} G at {zoo.input}" in row
        assert zoo.source is None or zoo.source in row
        assert f" {zoo.start} " in row
        assert f"{zoo.method}, {zoo.backbone}, {zoo.data} {zoo.schedule}" in row
        assert ("640x640" in row.split("|")[1]) == name.endswith("640")


def test_methods_stand_together_and_grow(script: ModuleType) -> None:
    names = list(script.configs())
    methods = [(one.zoo.data, one.zoo.method) for one in script.configs().values()]
    assert len(dict.fromkeys(methods)) == sum(
        one != before for one, before in zip(methods, [None, *methods], strict=False)
    )
    assert names.index("upernet_swin_t") < names.index("upernet_swin_s")
    assert names.index("mask_rcnn_swin_t_1x") < names.index("mask_rcnn_swin_t")


def test_every_published_file_has_a_row(script: ModuleType) -> None:
    table = script.published_table()
    lines = json.loads((ROOT / "docs/published.json").read_text(encoding="utf-8"))
    assert table.count("\n") == len(lines) + 1
    for line in lines:
        (row,) = [row for row in table.splitlines() if line["file"] in row]
        assert f"configs/{line['ours']}.py" in row
        for key, value in line["options"].items():
            assert f"{key}={value}" in row
        for figure in line["metrics"].values():
            assert f"{figure} " in row


def test_steps_are_told_as_they_were_measured(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "benchmarks/results/zoo.json"
    results.parent.mkdir(parents=True)
    steps = {
        "upernet_swin_t": {"picture": "512x512", "seconds": 14.08, "peak MB": 2407}
        | {"above the model MB": 1629, "loss": 6.97646, "finite": True, "run": 0},
        "dino_swin_l": {"why not": "does not fit 22 GiB", "run": 0},
    }
    runs = [{"machine": "mine, 2 cores", "threads": 1}]
    results.write_text(json.dumps({"runs": runs, "steps": steps}))
    script.configs()  # before they seem to be elsewhere
    monkeypatch.setattr(script, "ROOT", tmp_path)
    table = script.steps_table()
    assert "Measured on: mine, 2 cores, threads: 1." in table
    assert "| `upernet_swin_t` | 512x512 | 14.1 | 2407 | 1629 | 6.976 |" in table
    assert "| `dino_swin_l` | - | does not fit 22 GiB | - | - | - |" in table
    assert "| `atss_swin_t` | - | not measured | - | - | - |" in table


def test_writing_replaces_only_what_is_between_the_marks(run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("Before.\n<!-- zoo -->\nold\n<!-- zoo -->\nAfter.\n")
    (tmp_path / "docs/zoo.md").write_text("No mark.\n")
    run("--write", "--pages", str(tmp_path))
    page = (tmp_path / "README.md").read_text()
    assert page.startswith("Before.\n<!-- zoo -->\n| Config |")
    assert page.endswith("|\n<!-- zoo -->\nAfter.\n")
    assert "old" not in page
    assert (tmp_path / "docs/zoo.md").read_text() == "No mark.\n"


def test_without_write_it_prints(run, capsys: pytest.CaptureFixture) -> None:
    run()
    told = capsys.readouterr().out
    assert told.count("\n| --- |") == 3
    assert "configs/upernet_swin_t.py" in told
