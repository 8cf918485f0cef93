import dataclasses
import sysconfig
import tempfile

import pytest

from swin_mm.doctor.abilities import ABILITIES
from swin_mm.doctor.child import Answer

LITE = Answer(
    False,
    step="import mmcv.ops",
    error="ModuleNotFoundError: No module named 'mmcv._ext'",
    missing="mmcv._ext",
)


def find(name, evidence):
    """The finding of the one ability whose name begins so."""
    (ability,) = (one for one in ABILITIES if one.name.startswith(name))
    return ability.find(evidence)


def absent(name):
    return Answer(False, step=f"import {name}", error="ModuleNotFoundError", missing=name)


def test_where_all_is_well_nothing_is_broken(evidence):
    assert [
        one for one in (each.find(evidence()) for each in ABILITIES) if one.works is False
    ] == []


def test_without_operators_detectors_fail_and_segmentors_do_not(evidence):
    found = evidence(answers={"detector": LITE, "deformable": LITE, "mmcv": LITE})
    assert find("UPerNet", found).works is True
    for name in ("Mask R-CNN", "DINO"):
        finding = find(name, found)
        assert finding.works is False and "no compiled operators" in finding.note
        assert "MMCV_WITH_OPS=1" in finding.cure


def test_dino_wants_the_operator_and_the_detector(evidence):
    broken = Answer(False, step="run ms_deform_attn", error="RuntimeError: no kernel")
    assert find("DINO", evidence(answers={"deformable": broken})).works is False
    assert find("DINO", evidence(answers={"detector": absent("mmdet")})).works is False


def test_a_gpu_wants_operators_compiled_for_it(evidence, gpu):
    found = find("training on a GPU", evidence(answers={"torch": gpu}))
    assert found.works is False and "compiled for the CPU" in found.note
    assert "FORCE_CUDA=1" in found.cure
    compiled = Answer(True, {"version": "2.3.6", "cuda": "13.0"})
    found = find("training on a GPU", evidence(answers={"torch": gpu, "mmcv": compiled}))
    assert (found.works, found.note) == (True, "a card")


@pytest.mark.parametrize(("built", "says"), [(None, "built for the CPU"), ("13.0", "finds no GPU")])
def test_no_gpu_is_no_defect(evidence, answers, built, says):
    torch = Answer(True, answers["torch"].facts | {"cuda": built})
    found = find("training on a GPU", evidence(answers={"torch": torch}))
    assert found.works is None and says in found.note


@pytest.mark.parametrize(("fast", "says"), [("AMX", "fast here (AMX)"), ("", "emulated")])
def test_mixed_precision_is_the_gpu_s(evidence, gpu, machine, fast, says):
    assert find("mixed", evidence(answers={"torch": gpu})).works is True
    found = find("mixed", evidence(machine=dataclasses.replace(machine, bfloat16=fast)))
    assert found.works is None and says in found.note


def test_several_processes_want_the_device_s_own_way_to_talk(evidence, gpu):
    assert find("several", evidence()).note == "over gloo"
    assert find("several", evidence(answers={"torch": gpu})).note == "over nccl"
    deaf = Answer(True, gpu.facts | {"nccl": False})
    assert find("several", evidence(answers={"torch": deaf})).works is False


@pytest.fixture
def no_spaces(monkeypatch):
    """An environment whose path has none, wherever the tests run."""
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/env/lib")


@pytest.mark.usefixtures("no_spaces")
def test_compiling_is_judged_by_a_trial(evidence, answers, machine):
    assert find("compile", evidence()).note == "a toy function took 12 s"
    untried = evidence()
    untried = dataclasses.replace(untried, answers={**untried.answers})
    del untried.answers["compile"]
    assert find("compile", untried).works is None
    failed = {"compile": Answer(False, step="compile a toy function", error="InductorError: g++")}
    assert "InductorError" in find("compile", evidence(answers=failed)).note
    bare = dataclasses.replace(machine, compiler="")
    assert find("compile", evidence(answers=failed, machine=bare)).cure == "apt install g++"


@pytest.mark.usefixtures("no_spaces")
def test_a_space_in_a_path_explains_why_compiling_failed(evidence, monkeypatch):
    failed = {"compile": Answer(False, step="compile a toy function", error="InductorError: g++")}
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/my tmp")
    found = find("compile", evidence(answers=failed))
    assert found.note.endswith("spaces: /my tmp") and "TORCHINDUCTOR_CACHE_DIR=" in found.cure
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/your tmp")
    assert find("compile", evidence(answers=failed)).note.endswith("spaces: /your tmp")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/my env/lib")
    found = find("compile", evidence(answers=failed))
    assert "/my env/lib; it takes an environment that lies elsewhere" in found.note
    assert found.cure == ""


def test_what_is_optional_and_absent_is_added_in_one_command(evidence):
    missing = {f"library:{one}": absent(one) for one in ("onnx", "onnxruntime")}
    found = find("export to ONNX", evidence(answers=missing))
    assert (found.works, found.note) == (None, "not installed: onnx onnxruntime")
    assert found.cure.endswith("install onnx onnxruntime")


def test_what_is_optional_and_broken_is_broken(evidence):
    broken = Answer(False, step="import openvino", error="the process was killed by SIGSEGV")
    found = find("export to OpenVINO", evidence(answers={"library:openvino": broken}))
    assert found.works is False and "SIGSEGV" in found.note
    assert found.cure.endswith("--force-reinstall --no-deps openvino")


def test_triton_wants_a_gpu(evidence, gpu):
    assert find("kernels in Triton", evidence()).works is None
    assert find("kernels in Triton", evidence(answers={"torch": gpu})).works is True


def test_without_torch_every_line_says_so(evidence):
    torch = {"torch": absent("torch")}
    for name in ("training on a GPU", "mixed", "several"):
        found = find(name, evidence(answers=torch, packages=dict.fromkeys(evidence().packages, ())))
        assert (found.works, found.note) == (False, "torch is not installed")
        assert found.cure.endswith('install "torch>=2.6"')


def test_kernels_are_judged_by_the_backbone_s_own_run(evidence):
    assert find("kernels in C++", evidence()).note == "blocks run by those for AVX512"
    broken = Answer(False, step="import swin_mm", error="ImportError: no")
    found = find("kernels in C++", evidence(answers={"backbone": broken}))
    assert found.works is None and "does not run" in found.note and not found.cure


@pytest.mark.parametrize(
    ("why", "cured"),
    [
        ("they were not compiled; install swin_mm again where g++ is found", True),
        ("they are for linux-x86_64, this is linux-aarch64", False),
    ],
)
def test_without_kernels_it_is_slower_and_no_defect(evidence, why, cured):
    told = Answer(True, {"kernels": None, "without kernels": why})
    found = find("kernels in C++", evidence(answers={"backbone": told}))
    assert found.works is None and why.partition(";")[0] in found.note
    assert ("install --no-deps" in found.cure) == cured
