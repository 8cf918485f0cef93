"""Why there may be no kernels: said in words, and the network computes all the same."""

import importlib
import shutil
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from chunked_networks import assert_alike, build, gradients

from swin_mm import SwinTransformer
from swin_mm.ops.kernels import level, library, recipe, why_not, without_kernels

loading = importlib.import_module("swin_mm.ops.kernels.library")  # its name is a function's too


@pytest.fixture
def opened_anew(monkeypatch):
    """The library as a new process would look for it."""
    monkeypatch.setattr(loading, "_load", loading._load.__wrapped__)
    monkeypatch.delenv(loading.OFF, raising=False)


@pytest.fixture
def processor(monkeypatch):
    """Sets what torch says of the processor."""

    def is_of(kind):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: kind)

    return is_of


@pytest.fixture
def folder(monkeypatch, tmp_path, processor):
    """Where the libraries are looked for, empty, on a processor with AVX2."""
    monkeypatch.setattr(loading, "__file__", str(tmp_path / "library.py"))
    monkeypatch.setattr(sysconfig, "get_platform", lambda: recipe.PLATFORM)
    processor("AVX2")
    return tmp_path


def name(level="avx2"):
    """What a library of these sources is called."""
    return f"{recipe.library_name(level)}.so"


def runs():
    """Whether a network infers and learns as it does by operators."""
    model, x = build(SwinTransformer), torch.randn(1, 3, 20, 30)
    found = gradients(model, x)
    with without_kernels():
        assert_alike(found, gradients(model, x), bound=1e-4)
    return True


def compiled(folder, text):
    """Make a library of some C."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "own.c").write_text(text)
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / name()), "own.c"]
    subprocess.run(command, cwd=folder, check=True)


def test_the_environment_turns_them_off(opened_anew, monkeypatch):
    monkeypatch.setenv("SWIN_MM_KERNELS", "0")
    assert library() is None
    assert why_not() == "turned off by SWIN_MM_KERNELS=0"
    assert runs()


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("value", ["1", ""])
def test_any_other_word_there_leaves_them_on(opened_anew, monkeypatch, value):
    monkeypatch.setenv("SWIN_MM_KERNELS", value)
    assert why_not() is None


@pytest.mark.parametrize("capability", ["DEFAULT", "NO AVX", "VSX", "SVE256"])
def test_other_processors_have_none(opened_anew, processor, capability):
    processor(capability)
    assert library() is None
    assert (
        why_not() == f"they are for processors with AVX2 or AVX-512, and torch finds {capability}"
    )
    assert runs()


def test_where_nothing_was_compiled_the_cure_is_said(opened_anew, folder):
    assert library() is None
    assert why_not().startswith("they were not compiled; install swin_mm again where g++ is found")
    assert runs()


def test_those_of_other_sources_are_not_used(opened_anew, folder):
    (folder / "_avx2_00000000.so").touch()
    assert library() is None
    assert why_not().startswith("they were compiled from other sources; install swin_mm again")


def test_on_other_machines_there_are_none(opened_anew, folder, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "macosx-11-arm64")
    assert why_not() == "they are for linux-x86_64, this is macosx-11-arm64"


@pytest.mark.parametrize("content", [b"", b"no library", b"\x7fELF\x02\x01\x01"])
def test_a_broken_file_is_named(opened_anew, folder, content):
    (folder / name()).write_bytes(content)
    assert library() is None
    assert why_not().startswith(f"{name()} cannot be loaded: ")
    assert runs()


def test_so_is_a_library_of_something_else(opened_anew, folder):
    compiled(folder, "int something_else(void) { return 1; }")
    assert library() is None
    assert why_not().startswith(f"{name()} cannot be loaded: ")
    assert "swin_mm_take_normed" in why_not()
    assert runs()


def test_a_folder_of_that_name_is_no_library(opened_anew, folder):
    (folder / name()).mkdir()
    assert "not compiled" in why_not()


def test_avx_512_is_taken_where_it_is_there_and_else_avx2(opened_anew, folder, processor):
    opened = []
    for one in ("avx2", "avx512"):
        (folder / name(one)).touch()
        for capability in ("AVX2", "AVX512"):
            processor(capability)
            opened.append(why_not().split()[0])
    assert opened == [name(one) for one in ("avx2", "avx2", "avx2", "avx512")]


@pytest.mark.usefixtures("kernels")
def test_without_kernels_holds_until_the_last_one_ends():
    with without_kernels():
        with pytest.raises(ZeroDivisionError), without_kernels():
            assert why_not() == "turned off by without_kernels()"
            raise ZeroDivisionError
        assert why_not() == "turned off by without_kernels()"
        assert level() is None
        assert library() is not None  # for what they began before
    assert why_not() is None
    assert level() in recipe.LEVELS


@pytest.mark.usefixtures("kernels")
def test_many_threads_may_turn_them_off_and_on():
    def turn(_):
        for _ in range(200):
            with without_kernels():
                assert why_not() == "turned off by without_kernels()"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(turn, range(16)))
    assert why_not() is None


@pytest.mark.usefixtures("kernels")
def test_they_ask_for_no_openmp_but_torchs_own():
    """A second one in a process waits for the first one's threads, or crashes."""
    content = Path(library()._name).read_bytes()
    assert b"GOMP_parallel" in content
    assert not any(name in content for name in (b"libgomp", b"libiomp", b"libomp"))
