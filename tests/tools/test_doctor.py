"""The doctor in this environment, and in those where things are missing or broken."""

import json
import os
import runpy
import sys
from types import SimpleNamespace

import pytest
from families import MAINTAINED

from swin_mm.ops.kernels import why_not

BLOCKER = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in {names!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
STACK = ("torch", "numpy", "cv2", "mmengine", "mmcv", "mmdet", "mmseg", "rich")


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Take modules away from every process that is started from here on."""

    def block(*names):
        (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(names=names))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return {"PYTHONPATH": str(tmp_path)}

    return block


def abilities(told):
    return {one["name"].partition(" and")[0]: one for one in told["abilities"]}


def test_all_is_well_in_the_environment_of_the_tests(call):
    ended = call("doctor.py", "--quick", "--json")
    told = json.loads(ended.out)
    assert ended.code == 0, ended.out
    assert told["well"] is True
    found = abilities(told)
    for name in ("the backbone", "UPerNet", "Mask R-CNN", "DINO, Mask2Former"):
        assert found[name]["works"] is True
    assert found["kernels in C++"]["works"] is (True if why_not() is None else None)
    assert found["compile=True"]["note"] == "not tried (--quick)"
    assert told["packages"]["mmcv"][0]["name"].endswith("mmcv")
    assert told["probes"]["torch"]["facts"]["version"]


def test_it_runs_on_python_alone_and_names_every_installation(start, without):
    ended = start(sys.executable, "tools/doctor.py", "--quick", **without(*STACK))
    assert ended.code == 1
    assert all(" of " in line or "Trying" in line for line in ended.err.splitlines()), ended.err
    for library in ("torch", "mmdet", "mmseg"):
        assert f"{library} is not installed" in ended.out
    assert ended.out.count(" -m pip install ") >= 3
    assert ended.out.splitlines()[-1].startswith("Not well: the backbone, UPerNet")


def test_behind_the_package_s_own_error_it_finds_the_missing_library(start, without, root):
    probe = ["swin_mm/doctor/probes.py", "backbone"]
    variables = without("mmengine")
    variables["PYTHONPATH"] += f":{root}"
    ended = start(sys.executable, *probe, **variables)
    assert json.loads(ended.out.splitlines()[-1].partition("@doctor ")[2])["missing"] == "mmengine"


@pytest.mark.nightly
def test_without_operators_it_is_the_detectors_that_do_not_work(call, without):
    without("mmcv._ext")
    ended = call("doctor.py", "--quick")
    assert ended.code == 1
    assert "no operators" in ended.out
    assert "NO  Mask R-CNN" in ended.out and "NO  DINO" in ended.out
    assert "yes the backbone" in ended.out
    segmentors = "yes UPerNet" if MAINTAINED else "NO  UPerNet"  # the original imports operators
    assert segmentors in ended.out
    assert "MMCV_WITH_OPS=1" in ended.out


def test_a_library_that_crashes_is_one_line(call, without, tmp_path):
    without("torch", "mmengine", "mmcv", "mmdet", "mmseg")
    (tmp_path / "openvino.py").write_text("import os; os.kill(os.getpid(), 11)")
    ended = call("doctor.py", "--quick")
    assert ended.code == 1
    assert "to import openvino: the process was killed by SIGSEGV" in ended.out


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_an_impossible_option_ends_with_code_two(call, seconds):
    ended = call("doctor.py", f"--timeout={seconds}")
    assert ended.code == 2 and "above 0 and at most 86400 s" in ended.err


def test_output_that_nobody_reads_ends_it_in_silence(root, monkeypatch, capsys):
    def examine(tell, **_):
        tell("1 of 1: nothing")
        return SimpleNamespace(well=True)

    main = runpy.run_path(str(root / "tools" / "doctor.py"))["main"]
    room = SimpleNamespace(examine=examine, as_text=lambda _: "x" * 100_000)
    monkeypatch.setitem(main.__globals__, "load_room", lambda: room)
    monkeypatch.setattr(sys, "argv", ["doctor.py"])
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream, pytest.raises(SystemExit) as stop:
        monkeypatch.setattr(sys, "stdout", stream)
        main()
    assert stop.value.code == 141
    assert capsys.readouterr().err == "1 of 1: nothing\n"
