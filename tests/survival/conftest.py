"""Small trainings that are killed and resumed, and what they come to."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from swin_mm.checkpoints import read_checkpoint

Kill = dict[str, Any]


@pytest.fixture(scope="session")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pictures to learn from and two held out."""
    from swin_mm.data import write_scenes

    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, train=8, val=2, seed=3, size=(96, 72), jobs=1, force=True)
    return folder


@dataclass
class Run:
    """A training of eight iterations: two epochs of Mask R-CNN, or UPerNet by iterations.

    Stochastic depth, dropout and the mean of the weights are on; a checkpoint every other
    iteration, in the middle of an epoch too; a validation after the fourth and the last.
    """

    folder: Path
    loop: str
    workers: int = 0
    ranks: int = 1
    seed: int | None = 3
    options: dict[str, Any] = field(default_factory=dict)
    lives: int = 0

    def life(self, kill: Kill | None = None) -> dict[str, Any]:
        """Describe the run from its beginning, or from where it was killed last."""
        self.folder.mkdir(exist_ok=True)
        self.lives += 1
        configs = {"epoch": "mask_rcnn_swin_t", "iteration": "upernet_swin_t"}
        train = {
            "config": f"configs/{configs[self.loop]}.py",
            "work_dir": str(self.folder / "work"),
            "weights": "none",
            "image_scale": 0.12,
            "seed": self.seed,
            "ema": True,
            "resume": "auto" if self.lives > 1 else None,
            "options": self.options,
        }
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        log = str(self.folder / f"life {self.lives}")
        return {"train": train, "ranks": self.ranks, "port": port, "kill": kill, "log": log}

    def log(self, life: int, rank: int = 0) -> str:
        """What a life printed."""
        return (self.folder / f"life {life}.{rank}").read_text()

    @property
    def last(self) -> Path:
        """The checkpoint that the run names."""
        return Path((self.folder / "work/last_checkpoint").read_text())

    def result(self) -> dict[str, Any]:
        """Read the last checkpoint."""
        return read_checkpoint(self.last)


@pytest.fixture
def new_run(shrink: dict[str, dict], tmp_path: Path) -> Callable[..., Run]:
    """Make a run in a folder of that name."""

    def made(name: str, loop: str, *, workers: int = 0, ranks: int = 1, **options: Any) -> Run:
        task = "detection" if loop == "epoch" else "segmentation"
        every = "within_epoch" if loop == "epoch" else "interval"
        length = {"max_epochs": 2} if loop == "epoch" else {"max_iters": 8, "val_interval": 4}
        given = {
            **shrink[task],
            "model.backbone.drop_path_rate": 0.5,
            # A batch of one is too small for UPerNet's batch norm.
            "train_dataloader.batch_size": 2 // ranks if loop == "epoch" else 2,
            "train_dataloader.num_workers": workers,
            "train_dataloader.persistent_workers": workers > 0,
            "param_scheduler.0.end": 4,
            f"default_hooks.checkpoint.{every}": 2,
            **{f"train_cfg.{name}": value for name, value in length.items()},
            **options,
        }
        return Run(tmp_path / name, loop, workers, ranks, options=given)

    return made


@pytest.fixture
def live(root: Path, scenes: Path) -> Callable[[list[dict]], list[list[int]]]:
    """Let lives pass one after the other, and return how the ranks of each ended."""

    def lived(lives: list[dict]) -> list[list[int]]:
        for life in lives:
            life["train"]["data_root"] = str(scenes)
        variables = {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        ended = subprocess.run(
            [sys.executable, "tests/survival/lives.py"],
            input=json.dumps(lives),
            cwd=root,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=3000,
        )
        codes = [json.loads(line) for line in ended.stdout.splitlines() if line[:1] == "["]
        assert len(codes) == len(lives), ended.stderr
        return codes

    return lived


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Name the tensors of two checkpoints that are not equal to the bit."""
    found = []
    for part in ("state_dict", "ema_state_dict", "optimizer"):
        left, right = _flat(one[part]), _flat(other[part])
        assert left.keys() == right.keys()
        found += [f"{part}{name}" for name in left if not torch.equal(left[name], right[name])]
    return found


def _flat(node: Any, name: str = "") -> dict[str, torch.Tensor]:
    if isinstance(node, torch.Tensor):
        return {name: node}
    if not isinstance(node, dict | list):
        return {}
    children = node.items() if isinstance(node, dict) else enumerate(node)
    return {k: v for step, child in children for k, v in _flat(child, f"{name}.{step}").items()}


@pytest.fixture
def differing() -> Callable[[dict, dict], list[str]]:
    """Compare two checkpoints: weights, their mean, the optimizer."""
    return differences
