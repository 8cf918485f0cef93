"""The project as a user has it: an installed wheel, a folder of one's own, the hosts' own tools."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[1] / "support/host_driver.py"


@pytest.fixture(scope="session")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to import from, with the built wheel installed and nothing of the repository."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"  # a copy: setuptools would reuse what an older build left behind
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, source)
    shutil.copytree(root / "swin_mm", source / "swin_mm")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps"]
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*build, "-w", folder / "wheel", source], check=True, capture_output=True)
    (wheel,) = (folder / "wheel").glob("swin_mm-*.whl")
    target = folder / "site"
    subprocess.run([*install, "--target", target, wheel], check=True, capture_output=True)
    return target


@pytest.fixture
def host(installed: Path, tmp_path: Path):
    """Run a host's own tools, one after the other in one process, outside the repository.

    The function takes the host's package and command lines, and returns what was printed.
    """

    def run(package: str, *commands: list[str]) -> str:
        environment = {**os.environ, "PYTHONPATH": str(installed), "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, "-W", "ignore", DRIVER, package, json.dumps(commands)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        printed = done.stdout + done.stderr
        assert done.returncode == 0, printed[-4000:]
        assert f"swin_mm from {installed}" in printed
        return printed

    return run
