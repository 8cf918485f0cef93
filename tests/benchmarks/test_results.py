import json
from dataclasses import replace

import pytest
from bench.results import Results, commit, this_run

from swin_mm.ops.kernels import level, why_not, without_kernels

RUN = {"command": "a", "commit": "1", "machine": "m", "threads": 2, "versions": {}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new folder" / "results.json"


def test_a_file_holds_each_cell_as_soon_as_it_is_added(cell, file):
    results = Results(file, RUN)
    for peer in ("mmdet", "timm"):
        results.add(replace(cell, peer=peer), {"a / b": 2})
        held = json.loads(file.read_text())
        assert held["cells"][-1]["peer"] == peer and held["cells"][-1]["a / b"] == 2
        assert held["runs"] == [RUN]
    assert "matrix" not in held["floor"] and "qkv" in held["floor"]


def test_another_run_goes_on_where_one_stopped(cell, file):
    Results(file, RUN).add(cell, {"a / b": 2})
    again = Results(file, {**RUN, "commit": "2"})
    other = replace(cell, precision="bf16")
    assert cell in again and other not in again
    again.add(other, {"a / b": 3})
    held = json.loads(file.read_text())
    assert [run["commit"] for run in held["runs"]] == ["1", "2"]
    assert [(one["run"], one["a / b"]) for one in held["cells"]] == [(0, 2), (1, 3)]


def test_a_cell_measured_again_takes_the_place_of_what_was(cell, file):
    results = Results(file, RUN)
    results.add(cell, {"a / b": 2, "c / d": 1})
    results.add(cell, {"a / b": 3})
    (held,) = json.loads(file.read_text())["cells"]
    assert held["a / b"] == 3 and "c / d" not in held


def test_a_file_is_written_beside_and_renamed(cell, file, monkeypatch):
    results = Results(file, RUN)
    results.add(cell, {"a / b": 2})
    before = file.read_text()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        results.add(replace(cell, peer="timm"), {"a / b": 3})
    assert file.read_text() == before


def test_a_run_says_what_a_reader_needs(root):
    run = this_run("the command", None, 2)
    assert run["command"] == "the command" and "cores" in run["machine"]
    assert {"python", "torch"} <= set(run["versions"])
    assert commit() == run["commit"]
    assert run["kernels"] == level() or why_not() in run["kernels"]
    with without_kernels():
        assert this_run("", None, 2)["kernels"] == "none: turned off by without_kernels()"
    assert this_run("", "mine", 2)["machine"] == "mine"
