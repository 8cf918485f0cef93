"""The commands of the Makefile and the set-up behind them, with a Python that notes its calls."""

import os
import re
import shutil
import subprocess
import zipfile

import pytest
from pretend_clone import INSTALLED, ROOT, THEIR_WHEEL, WHEEL, Clone


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_make_alone_lists_every_target(clone):
    makefile = (ROOT / "Makefile").read_text()
    declared = " ".join(re.findall(r"^\.PHONY: (.+)$", makefile, re.M)).split()
    listed = re.findall(r"^  make ([\w-]+) +\w", clone.make().stdout, re.M)
    assert listed == declared
    assert {"setup", "train", "test", "lint", "scenes", "wheel", "clean", "help"} <= set(listed)


def test_a_first_set_up_compiles_mmcv_and_keeps_the_wheel(clone):
    made = clone.make("setup")
    assert made.returncode == 0, made.stderr
    assert clone.did("venv") and clone.did("compile MAX_JOBS=")
    assert zipfile.is_zipfile(clone.wheel) and os.listdir(clone.wheel.parent) == [WHEEL]
    assert re.findall("([1-5])/5", made.stdout) == list("12345") and "done" in made.stdout


def test_a_second_set_up_does_nothing(clone):
    clone.make("setup")
    assert ".venv is ready" in clone.make("setup").stdout
    assert clone.notes.read_text() == ""


def test_changed_requirements_are_installed_with_the_wheel_in_the_cache(clone):
    clone.make("setup")
    with open(clone.root / "requirements" / "dev.txt", "a") as file:
        file.write("more\n")
    assert "from the cache" in clone.make("setup").stdout
    assert clone.did("pip install") and not clone.did("compile") and not clone.did("venv")


def test_a_failed_set_up_does_not_pass_for_the_one_before(clone):
    clone.make("setup")
    pins = clone.root / "requirements" / "dev.txt"
    before = pins.read_text()
    pins.write_text(before + "more\n")
    clone.wheel.unlink()
    assert clone.make("setup", COMPILER_FAILS="1").returncode != 0
    pins.write_text(before)
    assert ".venv is ready" not in clone.make("setup").stdout


def test_the_scripts_find_their_clone_from_anywhere(clone):
    clone.make("setup")
    script = clone.root / "tools" / "setup_env.sh"
    told = subprocess.check_output(
        [script], cwd="/", text=True, env={**os.environ, "PYTHON": str(clone.python)}
    )
    assert ".venv is ready" in told


def test_a_moved_clone_is_set_up_anew(clone):
    clone.make("setup")
    clone.root = clone.root.rename(clone.root.with_name("elsewhere"))
    clone.make("setup")
    assert clone.did(INSTALLED)


def test_a_second_clone_finds_the_wheel(clone):
    clone.make("setup")
    shutil.rmtree(clone.root / ".venv")
    clone.make("setup")
    assert clone.did("venv") and not clone.did("compile")


def test_a_truncated_wheel_is_compiled_again(clone):
    clone.make("setup")
    clone.wheel.write_bytes(clone.wheel.read_bytes()[:-30])
    shutil.rmtree(clone.root / ".venv")
    assert "is broken" in clone.make("setup").stdout
    assert clone.did("compile") and zipfile.is_zipfile(clone.wheel)


def test_a_wheel_that_does_not_run_is_compiled_again(clone):
    clone.make("setup")
    shutil.rmtree(clone.root / ".venv")
    clone.notes.with_suffix(".unusable").touch()
    assert clone.make("setup").returncode == 0
    assert clone.did("compile")


def test_the_original_libraries_are_tested_in_an_environment_of_their_own(clone):
    made = clone.make("test-upstream")
    assert made.returncode == 0, made.stderr
    assert "source .upstream/bin/activate" in made.stdout
    assert os.listdir(clone.wheel.parent) == [THEIR_WHEEL]
    assert clone.did("pip install -c requirements/constraints.txt --no-build-isolation -r requir")
    assert "-r requirements/apart/upstream.txt" in clone.notes.read_text()
    assert clone.did("pytest of .upstream/bin/python") and not (clone.root / ".venv").exists()
    assert ".upstream is ready" in clone.make("test-upstream").stdout
    assert clone.notes.read_text().splitlines() == ["pytest of .upstream/bin/python"]


def test_one_familys_wheel_is_not_taken_for_the_other(clone):
    clone.make("setup")
    assert clone.make("test-upstream").returncode == 0
    assert clone.did("compile") and sorted(os.listdir(clone.wheel.parent)) == [THEIR_WHEEL, WHEEL]
    shutil.rmtree(clone.root / ".upstream")
    assert "from the cache" in clone.make("test-upstream").stdout
    assert f"{clone.wheel.parent}/{THEIR_WHEEL}" in clone.notes.read_text()


def test_a_pin_of_the_original_libraries_moves_without_the_maintained_ones(clone):
    clone.make("setup")
    clone.make("test-upstream")
    with open(clone.root / "requirements" / "apart" / "upstream.txt", "a") as file:
        file.write("more\n")
    assert ".venv is ready" in clone.make("setup").stdout
    assert ".upstream is ready" not in clone.make("test-upstream").stdout


def test_versions_are_recorded_where_the_tests_of_both_pass(clone):
    assert clone.make("versions").returncode == 0
    assert clone.notes.read_text().splitlines()[-5:] == [
        "pytest of .venv/bin/python",
        "docs/print_versions.py --record .venv/report.xml",
        "pytest of .upstream/bin/python",
        "docs/print_versions.py --record .upstream/report.xml",
        "docs/print_versions.py --write",
    ]
    assert clone.make("versions", FAILS="1").returncode != 0
    assert clone.notes.read_text().splitlines() == ["pytest of .venv/bin/python"]


def test_there_are_two_environments_to_set_up(clone):
    words = ["bash", "tools/setup_env.sh", "upstraem"]
    ended = subprocess.run(words, cwd=clone.root, capture_output=True, text=True)
    assert ended.returncode == 2 and '"upstraem"' in ended.stderr


def test_the_auditor_is_installed_once_alone_and_its_verdict_is_makes(clone):
    (clone.root / "tools" / "audit.py").write_text("import sys\nsys.exit(len(sys.argv))\n")
    made = clone.make("audit", AUDIT_ARGS="--service osv")
    assert made.returncode == 2 and "Error 3" in made.stderr
    assert clone.did("venv") and clone.did("pip install --no-deps -r requirements/apart/audit.txt")
    clone.make("audit")
    assert clone.notes.read_text() == "" and not (clone.root / ".venv").exists()


@pytest.mark.parametrize("name", ["SWIN_MM_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_a_cache_that_cannot_be_written_is_survived(clone, name):
    places = {"SWIN_MM_CACHE": "", "XDG_CACHE_HOME": "", name: "/dev/null"}
    made = clone.make("setup", **places)
    assert made.returncode == 0, made.stderr
    assert "/dev/null" in made.stdout and "cannot be written" in made.stdout


def test_a_ready_wheel_is_taken_without_compiler_or_cache(clone, tmp_path):
    ready = tmp_path / "given wheels" / WHEEL
    ready.parent.mkdir()
    with zipfile.ZipFile(ready, "w") as archive:
        archive.writestr("mmcv/_ext.so", "x")
    made = clone.make("setup", MMCV_WHEEL=str(ready), CXX="no-such-compiler")
    assert made.returncode == 0, made.stderr
    assert clone.did(f"pip install -c requirements/constraints.txt {ready}")
    assert not clone.cache.exists()


@pytest.mark.parametrize("name", ["absent.whl", "onedl_mmcv-1.0-py3-none-any.whl", WHEEL])
def test_a_useless_ready_wheel_is_refused(clone, tmp_path, name):
    (tmp_path / WHEEL).write_bytes(b"not a wheel")
    made = clone.make("setup", MMCV_WHEEL=str(tmp_path / name))
    assert made.returncode != 0 and name in made.stderr


def test_a_failed_compilation_stops_with_the_compiler_s_words(clone):
    made = clone.make("setup", COMPILER_FAILS="1")
    assert made.returncode != 0
    assert "no luck" in made.stderr and "did not compile" in made.stderr
    assert "4/5" not in made.stdout and not clone.wheel.exists()
    assert ".venv is ready" not in clone.make("setup").stdout


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"CXX": "no-such-compiler"}, "apt install g++"),
        ({"PYTHON": "no-such-python"}, "no-such-python is not found"),
        ({"PYTHON": "false"}, "false cannot be used"),
    ],
)
def test_what_is_missing_is_named_before_anything_is_downloaded(clone, variables, words):
    made = clone.make("setup", **variables)
    assert made.returncode != 0
    assert words in made.stderr and clone.notes.read_text() == ""


def test_an_old_python_is_refused_by_its_version(clone):
    old = "import sys; sys.version_info = (3, 9, 1); sys.version = '3.9.1 (main)'"
    (clone.root / "sitecustomize.py").write_text(old)
    made = clone.make("setup", PYTHONPATH=".")
    assert "swin_mm needs Python 3.10 to 3.13, this is 3.9.1" in made.stderr


def test_the_other_commands_stop_where_the_set_up_failed(clone):
    for command in ["train", "test", "lint", "scenes", "wheel"]:
        made = clone.make(command, PYTHON="no-such-python")
        assert made.returncode != 0 and "no-such-python" in made.stderr


def test_cleaning_spares_the_environment_and_the_results(clone):
    for name in ["build", "dist", ".venv", "work_dirs", "swin_mm/__pycache__"]:
        (clone.root / name).mkdir(parents=True)
    assert clone.make("clean").returncode == 0
    left = {str(path.relative_to(clone.root)) for path in clone.root.rglob("*") if path.is_dir()}
    assert {".venv", "work_dirs", "swin_mm", "tools", "requirements"} <= left
    assert not {"build", "dist", "swin_mm/__pycache__"} & left
