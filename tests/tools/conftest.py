"""The tools as a user starts them, and one trained detector for all who need a checkpoint."""

import os
import runpy
import socket
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from mmengine.logging import MMLogger

from swin_mm.engine import run_tool

Call = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def as_words(options: dict) -> list[str]:
    return [f"{key}={value}".replace(" ", "") for key, value in options.items()]


@pytest.fixture(scope="session")
def environment(root: Path) -> dict[str, str]:
    """One thread a process, and our package, for a process of its own."""
    return {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def small(shrink: dict, tiny_scenes: Path) -> dict[str, list[str]]:
    """Arguments that turn a config into a run of seconds, by task."""
    fast = ["--data-root", str(tiny_scenes), "--image-scale", "0.12", "--cfg-options"]
    return {task: [*fast, *as_words(options)] for task, options in shrink.items()}


@pytest.fixture(scope="session")
def start(root: Path, environment: dict[str, str]) -> Call:
    """Start words in a process of their own, in the repository."""

    def started(*words: str, **more: str) -> Ended:
        ended = subprocess.run(
            words,
            cwd=root,
            env={**environment, **more},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            stdin=subprocess.DEVNULL,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return started


@pytest.fixture
def call(
    root: Path,
    own_mmengine: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> Call:
    """Run a tool in this process, as far as it goes before it fails; elsewhere by its full path."""

    def called(tool: str, *words: str, cwd: Path = root) -> Ended:
        monkeypatch.chdir(cwd)
        # Loggers of earlier runs write to streams that are closed by now.
        monkeypatch.setattr(MMLogger, "_instance_dict", OrderedDict())
        name = f"tools/{tool}" if cwd == root else str(root / "tools" / tool)
        monkeypatch.setattr(sys, "argv", [name, *words])
        main = runpy.run_path(str(root / "tools" / tool))["main"]
        try:
            code = run_tool(main)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Ended(code, *capsys.readouterr())

    return called


@dataclass(frozen=True)
class Trained:
    """A detector trained for two iterations, and the arguments of `train.py` but for these."""

    work_dir: Path
    ended: Ended
    words: list[str]

    @property
    def checkpoint(self) -> Path:
        return self.work_dir / "iter_2.pth"

    @property
    def config(self) -> Path:
        return self.work_dir / "mask_rcnn_swin_t.py"


@pytest.fixture(scope="session")
def trained(start: Call, small: dict, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train a detector as a user does, into a folder with a space."""
    work_dir = tmp_path_factory.mktemp("work dir")
    words = ["configs/mask_rcnn_swin_t.py", "--weights", "none"]
    words += ["--seed", "4", "--work-dir", str(work_dir), *small["detection"]]
    ended = start(sys.executable, "tools/train.py", *words, "--max-iters", "2")
    return Trained(work_dir, ended, words)


@pytest.fixture
def port() -> str:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])
