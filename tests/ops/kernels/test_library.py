import os
import shutil
import sys
import sysconfig

import pytest
import torch

from swin_mm.ops.kernels import level, library, recipe, why_not, without_kernels

module = sys.modules["swin_mm.ops.kernels.library"]  # the package has a function of its name


@pytest.fixture
def searched(tmp_path, monkeypatch):
    """Libraries are looked for anew, in an empty folder, on the right kind of machine."""
    monkeypatch.delenv(recipe.OFF, raising=False)
    monkeypatch.setattr(sysconfig, "get_platform", lambda: recipe.PLATFORM)
    capability(monkeypatch, "AVX512")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "library_file", lambda level: tmp_path / f"_{level}_1.so")
    monkeypatch.setattr(module, "others", lambda folder: [*folder.glob("*_2.so")])
    module._load.cache_clear()
    yield tmp_path
    module._load.cache_clear()


def capability(monkeypatch, name):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: name)


@pytest.mark.skipif(os.environ.get(recipe.OFF) == "0", reason="turned off")
@pytest.mark.skipif(sysconfig.get_platform() != recipe.PLATFORM, reason="elsewhere")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_where_they_can_be_compiled_they_are_used():
    capability = torch.backends.cpu.get_cpu_capability()
    assert why_not() is None or capability in why_not(), "the tests would not run the kernels"
    assert (library() is None) == (level() is None) == (why_not() is not None)


def test_they_are_turned_off_for_as_long_as_somebody_wants():
    before = library()
    with without_kernels():
        with without_kernels():
            assert library() is None and level() is None
        assert library() is None and "without_kernels" in why_not()
    assert library() is before


def test_the_environment_turns_them_off(searched, monkeypatch):
    monkeypatch.setenv(recipe.OFF, "0")
    assert library() is None and why_not() == "turned off by SWIN_MM_KERNELS=0"


def test_on_other_machines_and_processors_there_are_none(searched, monkeypatch):
    capability(monkeypatch, "DEFAULT")
    assert library() is None and "torch finds DEFAULT" in why_not()
    module._load.cache_clear()
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "macosx-11-arm64")
    assert library() is None and "this is macosx-11-arm64" in why_not()


def test_those_of_other_sources_are_not_used(searched):
    assert library() is None and "were not compiled; install swin_mm again" in why_not()
    module._load.cache_clear()
    (searched / "_avx512_2.so").touch()
    assert library() is None and "compiled from other sources; install" in why_not()


@pytest.mark.parametrize(
    ("processor", "there", "taken"),
    [
        ("AVX512", ("avx512", "avx2"), "avx512"),
        ("AVX512", ("avx2",), "avx2"),
        ("AVX2", ("avx512", "avx2"), "avx2"),
        ("AVX2", ("avx512",), "were not compiled"),
    ],
)
def test_the_best_that_the_processor_has_is_taken(searched, monkeypatch, processor, there, taken):
    capability(monkeypatch, processor)
    for name in there:
        (searched / f"_{name}_1.so").write_text("not a library")
    assert library() is None and level() is None
    assert taken in why_not() and ("cannot be loaded" in why_not()) == ("compiled" not in taken)
