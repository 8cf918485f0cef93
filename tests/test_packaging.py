"""The built wheel is complete, and clean, and asks for no more than the backbone needs."""

import email
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a folder")
    # A copy of what is needed: building writes beside setup.py.
    sources = [*(ROOT / "swin_mm").rglob("*.py"), *(ROOT / "swin_mm").rglob("templates/*")]
    for name in ["setup.py", "pyproject.toml", "LICENSE", *sources]:
        target = folder / (ROOT / name).relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    # And what must stay out.
    for name in ["tests/__init__.py", "tools/__init__.py", "configs/__init__.py"]:
        (folder / name).parent.mkdir()
        (folder / name).touch()
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    subprocess.run([*command, "-w", str(folder / "dist"), str(folder)], check=True)
    (built,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


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


def test_the_wheel_holds_every_module_and_nothing_beside_them(wheel):
    package = ROOT / "swin_mm"
    files = [*package.rglob("*.py"), *package.rglob("templates/*")]
    assert {str(path.relative_to(ROOT)) for path in files} == {
        name for name in wheel.namelist() if ".dist-info/" not in name
    }


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
