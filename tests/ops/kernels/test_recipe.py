import importlib
import os
import re
import runpy
import shutil
import sysconfig

import pytest
import torch

from swin_mm.ops.kernels import level, library, recipe, why_not

loading = importlib.import_module("swin_mm.ops.kernels.library")  # its name is a function's too


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Sources of two files, and the recipe beside them, on the right kind of machine."""
    monkeypatch.delenv(recipe.OFF, raising=False)
    monkeypatch.setattr(sysconfig, "get_platform", lambda: recipe.PLATFORM)
    monkeypatch.setattr(recipe, "FOLDER", tmp_path)
    for name in ("a.h", "a.cpp"):
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("name", ["a.h", "a.cpp", "b.h"])
def test_another_source_is_another_library(folder, name):
    before = recipe.library_name("avx2")
    assert recipe.library_name("avx2") == before != recipe.library_name("avx512")
    (folder / name).write_text("changed")
    assert recipe.library_name("avx2") != before


@pytest.mark.parametrize(("name", "other"), [("FLAGS", ("-O2",)), ("LEVELS", {"avx2": ()})])
def test_other_flags_are_another_library(folder, monkeypatch, name, other):
    before = recipe.library_name("avx2")
    monkeypatch.setattr(recipe, name, other)
    assert recipe.library_name("avx2") != before


def test_libraries_of_other_sources_are_found(folder):
    for name in ("_avx2_00000000.so", "_avx2.cpython-311.so", f"{recipe.library_name('avx2')}.so"):
        (folder / name).touch()
    found = [file.name for file in recipe.others(folder)]
    assert found == ["_avx2.cpython-311.so", "_avx2_00000000.so"]


def test_elsewhere_and_where_they_are_turned_off_none_are_built(folder, monkeypatch):
    assert set(recipe.libraries()) == {"avx512", "avx2"}
    monkeypatch.setenv(recipe.OFF, "0")
    assert recipe.libraries() == {}
    monkeypatch.delenv(recipe.OFF)
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "linux-aarch64")
    assert recipe.libraries() == {}


def test_a_library_of_other_sources_is_not_used(folder, monkeypatch):
    monkeypatch.setattr(loading, "__file__", str(folder / "library.py"))
    monkeypatch.setattr(loading, "_load", loading._load.__wrapped__)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    assert library() is None and "they were not compiled; install swin_mm again" in why_not()
    (folder / f"{recipe.library_name('avx2')}.so").touch()
    assert library() is None and "cannot be loaded" in why_not()
    (folder / "a.h").write_text("changed")
    assert library() is None and "compiled from other sources; install swin_mm" in why_not()
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "linux-aarch64")
    assert library() is None and why_not() == "they are for linux-x86_64, this is linux-aarch64"


@pytest.mark.skipif(os.environ.get(recipe.OFF) == "0", reason="turned off")
@pytest.mark.skipif(sysconfig.get_platform() != recipe.PLATFORM, reason="elsewhere")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_where_they_can_be_compiled_they_are_used():
    processor = torch.backends.cpu.get_cpu_capability()
    assert why_not() is None or processor in why_not(), "tests of kernels would be skipped"
    assert level() == (processor.lower() if why_not() is None else None)


def test_the_page_shows_how_to_ask(root, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs/kernels.md").read_text(), re.S)
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == [
        str(why_not()),
        "turned off by without_kernels()",
    ]


def test_as_a_program_it_names_what_is_missing(folder, capsys):
    program = folder / "recipe.py"
    with open(recipe.__file__, encoding="utf-8") as file:
        program.write_text(file.read())
    runpy.run_path(str(program), run_name="__main__")
    missing = capsys.readouterr().out.split()
    assert missing == [f"{name}.so" for name in recipe.libraries().values()]
    (folder / missing[0]).touch()
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out.split() == missing[1:]
