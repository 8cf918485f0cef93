import dataclasses
import re
import shutil
import sys

import pytest
from packaging.requirements import Requirement

from swin_mm.doctor.child import Answer
from swin_mm.doctor.cures import compile_kernels, compile_mmcv, explain, install, pip

LITE = "ModuleNotFoundError: No module named 'mmcv._ext'"
STALE = "ImportError: /venv/mmcv/_ext.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c10"
REFUSED = "AssertionError: MMCV==2.2.0 is used but incompatible. Please install mmcv>=2.0, <2.2.0."


@pytest.mark.parametrize(
    ("error", "missing", "says", "command"),
    [
        (LITE, "mmcv._ext", "no compiled operators", "MMCV_WITH_OPS=1"),
        (
            "ModuleNotFoundError: import of mmcv._ext halted",
            "mmcv._ext",
            "no compiled",
            "MMCV_WITH",
        ),
        (STALE, "", "compiled for another torch", "--no-cache-dir onedl-mmcv==2.3.6"),
        ("ImportError: libGL.so.1: cannot open", "", "wants libGL", "opencv-python-headless"),
        ("RuntimeError: Numpy is not available", "", "compiled for NumPy 1", '"numpy<2"'),
        ("ModuleNotFoundError: x", "ftfy", "mmseg wants ftfy", "install ftfy"),
        ("ModuleNotFoundError: x", "yaml", "mmseg wants yaml", "install pyyaml"),
        ("ModuleNotFoundError: x", "mmseg", "mmseg is not installed", "onedl-mmsegmentation"),
        ("ModuleNotFoundError: x", "torch.fx", "torch is incomplete", "--force-reinstall"),
        (
            "the process was killed by SIGSEGV",
            "",
            "SIGSEGV",
            "--force-reinstall --no-deps onedl-mms",
        ),
    ],
)
def test_an_error_has_a_meaning_and_a_command(packages, error, missing, says, command):
    answer = Answer(False, step="import mmseg", error=error, missing=missing)
    trouble = explain(answer, packages, library="mmseg")
    assert says in trouble.what
    assert command in trouble.cure


def test_an_unknown_error_is_told_with_its_place_and_without_a_guess(packages):
    answer = Answer(False, step="train UPerNet", error="ValueError: 3")
    trouble = explain(answer, packages, library="mmseg")
    assert (trouble.what, trouble.cure) == ("to train UPerNet: ValueError: 3", "")


def test_a_host_that_refuses_mmcv_says_what_it_takes(original):
    answer = Answer(False, step="import mmdet", error=REFUSED)
    trouble = explain(answer, original, library="mmdet")
    assert trouble.what == "mmdet refuses MMCV 2.2.0: please install mmcv>=2.0, <2.2.0"
    assert "mmcv==2.1.0" in trouble.cure
    answer = Answer(False, error=REFUSED.replace("MMCV", "MMEngine"))
    assert explain(answer, original, library="mmdet").cure.endswith("mmengine --upgrade")


def test_an_original_host_beside_the_maintained_mmcv_is_replaced(packages, original):
    mixed = packages | {"mmdet": original["mmdet"]}
    cure = explain(Answer(False, error=REFUSED), mixed, library="mmdet").cure
    assert "uninstall -y mmdet &&" in cure and cure.endswith("onedl-mmdetection")


def test_mmcv_is_compiled_in_the_family_that_is_there(packages, original):
    assert "onedl-mmcv==2.3.6" in compile_mmcv(packages)
    theirs = compile_mmcv(original)
    assert " mmcv==2.1.0" in theirs and '"setuptools<81"' in theirs
    assert "uninstall -y mmcv-lite &&" in theirs
    assert "FORCE_CUDA=1" in compile_mmcv(packages, cuda=True)
    nothing = {library: () for library in packages}
    assert "onedl-mmcv" in compile_mmcv(nothing) and "uninstall" not in compile_mmcv(nothing)


def test_the_version_that_is_compiled_is_the_pinned_one(root, packages):
    pins = (root / "requirements/openmmlab.txt").read_text()
    assert compile_mmcv(packages).split()[-1] in pins


def test_what_is_installed_fits_the_extra_of_its_family(root, original):
    extras = (root / "setup.py").read_text()
    for library in ("mmdet", "mmseg"):
        (asked,) = (word.strip('"') for word in install(library, original).split() if "<" in word)
        (ours,) = re.findall(rf'"({re.split("[<>]", asked)[0]}[<>].+?)"', extras)
        lowest = re.search(r">=([\d.]+)", asked)[1]
        assert Requirement(asked).specifier.contains(re.search(r">=([\d.]+)", ours)[1])
        assert ours.startswith(f"{Requirement(asked).name}>={lowest}")
        assert ours.partition("<")[2] == asked.partition("<")[2]


def test_a_command_calls_the_interpreter_that_was_examined(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    assert pip("check") == "'/my env/bin/python' -m pip check"
    monkeypatch.setattr(shutil, "which", lambda _: sys.executable)
    assert pip("check") == "python -m pip check"


def test_kernels_come_with_the_installation_that_is_there(monkeypatch, packages):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert compile_kernels(packages, "/usr/bin/g++").endswith("-m pip install --no-deps .")
    (plain,) = packages["swin_mm"]
    editable = packages | {"swin_mm": (dataclasses.replace(plain, editable=True),)}
    for there in (editable, packages | {"swin_mm": ()}):
        assert compile_kernels(there, "/usr/bin/g++").endswith("-m pip install --no-deps -e .")
    assert compile_kernels(packages, "/usr/bin/clang++").startswith("CC=gcc CXX=g++ ")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert compile_kernels(packages, "").startswith("apt install g++ && ")
