"""The built wheel is complete, and clean, and asks for no more than the backbone needs."""

import email
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from swin_mm.ops.kernels import recipe

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "swin_mm"
KERNELS = Path("swin_mm", "ops", "kernels")
ON_LINUX = sysconfig.get_platform() == recipe.PLATFORM
# Writes what it is asked for, empty.
COMPILER = """#!/usr/bin/env bash
while [[ $1 != -o ]]; do shift; done
touch "$2"
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of what is needed: building writes beside setup.py."""
    folder = tmp_path_factory.mktemp("a folder")
    for name in ["setup.py", "pyproject.toml", "LICENSE", *packed()]:
        target = folder / (ROOT / name).relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    # And what must stay out.
    for name in ["tests/__init__.py", "tools/__init__.py", "configs/__init__.py"]:
        (folder / name).parent.mkdir()
        (folder / name).touch()
    compiler = folder / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def wheel(sources):
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    command += ["-w", str(sources / "dist"), str(sources)]
    subprocess.run(command, check=True, env=compiling_with(sources / "compiler"))
    (built,) = (sources / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


def packed():
    kinds = ["*.py", "templates/*", "kernels/*.cpp", "kernels/*.h"]
    return [path for kind in kinds for path in PACKAGE.rglob(kind)]


def compiling_with(compiler):
    kept = {name: value for name, value in os.environ.items() if name != recipe.OFF}
    return {**kept, "CC": shlex.quote(str(compiler)), "CXX": shlex.quote(str(compiler))}


def build(sources, compiler):
    """Build the kernels; return all that lie in the folder afterwards, and what was said."""
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "build_ext", "--inplace"],
        cwd=sources,
        env=compiling_with(compiler),
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return {file.name for file in sources.rglob("*.so")}, made.stderr


@pytest.fixture(scope="module")
def metadata(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_string(wheel.read(name).decode())


def requirements(metadata, extra=None):
    """Names of the distributions that an installation, or an extra of it, asks for."""
    lines = metadata.get_all("Requires-Dist")
    chosen = [line for line in lines if (f'extra == "{extra}"' if extra else "extra ==") in line]
    if extra is None:
        chosen = [line for line in lines if line not in chosen]
    return {re.match(r"[\w-]+", line)[0] for line in chosen}


def test_the_wheel_holds_every_module_and_kernel_and_nothing_beside_them(wheel):
    kernels = [ROOT / KERNELS / f"{recipe.library_name(level)}.so" for level in recipe.LEVELS]
    wanted = [*packed(), *(kernels if ON_LINUX else ())]
    assert {str(path.relative_to(ROOT)) for path in wanted} == {
        name for name in wheel.namelist() if ".dist-info/" not in name
    }


def test_one_wheel_is_for_every_python(wheel):
    tags = "cp310-abi3-linux_x86_64" if ON_LINUX else "py3-none-any"
    assert wheel.filename.endswith(f"-{tags}.whl")


@pytest.mark.skipif(not ON_LINUX, reason="the kernels are for x86-64 on Linux")
def test_kernels_of_changed_sources_have_other_names_and_the_old_ones_go(sources):
    before, said = build(sources, sources / "compiler")
    assert len(before) == 2 and not said
    with open(sources / KERNELS / "gelu.h", "a") as file:
        file.write("// Changed.\n")
    after, _ = build(sources, sources / "compiler")
    assert len(after) == 2 and not after & before


@pytest.mark.skipif(not ON_LINUX, reason="the kernels are for x86-64 on Linux")
def test_without_a_compiler_the_build_says_what_that_means_and_goes_on(sources):
    with open(sources / KERNELS / "gelu.h", "a") as file:
        file.write("// Changed again.\n")
    there, said = build(sources, sources / "no-compiler")
    assert not there and "torch's own operators do the work" in said


def test_the_wheel_carries_the_licence(wheel, metadata):
    assert metadata["License"] == "Apache-2.0"
    licence = next(name for name in wheel.namelist() if name.endswith("LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_version_is_the_package_s_own(metadata):
    import swin_mm

    assert metadata["Version"] == swin_mm.__version__


def test_installing_forces_no_distribution_of_openmmlab_on_anyone(metadata):
    assert requirements(metadata) == {"torch", "numpy"}
    assert metadata["Requires-Python"] == ">=3.10"


def test_the_extras_are_the_two_distributions(metadata):
    forks = {"onedl-mmengine", "onedl-mmcv", "onedl-mmdetection", "onedl-mmsegmentation"}
    assert requirements(metadata, "onedl") == forks
    upstream = {"mmengine", "mmcv", "mmdet", "mmsegmentation", "ftfy", "regex"}
    assert requirements(metadata, "openmmlab") == upstream


def test_the_extra_admits_the_pinned_versions(metadata):
    from packaging.requirements import Requirement

    ranges = [Requirement(line) for line in metadata.get_all("Requires-Dist")]
    pinned = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([\w-]+)==([^ ;#\n]+)", file.read_text(), re.M):
            pinned.setdefault(name, set()).add(version)
    for wanted in ranges:
        for version in pinned.get(wanted.name, ()):
            assert wanted.specifier.contains(version), f"{wanted.name} {version}"
