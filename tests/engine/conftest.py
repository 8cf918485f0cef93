"""Fresh configs for each test, and a training of milliseconds."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.evaluator import BaseMetric, Evaluator
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import nn
from torch.utils.data import Dataset

from swin_mm.engine import whole_files
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.notes import Notes
from swin_mm.engine.runner import QuietRunner


@pytest.fixture
def detector(root: Path) -> Config:
    """Mask R-CNN, 3x."""
    return Config.fromfile(root / "configs/mask_rcnn_swin_t.py")


@pytest.fixture
def segmentor(root: Path) -> Config:
    """UPerNet."""
    return Config.fromfile(root / "configs/upernet_swin_t.py")


@pytest.fixture
def notes() -> Notes:
    """Lines that are kept and printed."""
    return Notes()


class Toy(BaseModel):
    """One layer and dropout, which learn to give zero."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 1)
        self.dropout = nn.Dropout(0.5)

    def forward(self, inputs: list, mode: str = "tensor") -> dict | list:
        """Return the loss, or what it is of each input."""
        out = self.linear(self.dropout(torch.stack(inputs).float()))
        return {"loss": out.square().mean()} if mode == "loss" else list(out.detach())


class Noisy(Dataset):
    """Ten inputs, each augmented by noise."""

    metainfo: dict = {}

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> dict:
        return {"inputs": index + torch.rand(4)}


class Distance(BaseMetric):
    """How far from zero the outputs are; the numbers it draws must disturb nobody."""

    default_prefix = "toy"

    def process(self, data_batch: dict, data_samples: list) -> None:
        """Keep the outputs."""
        torch.rand(3)
        self.results += [float(one.abs()) for one in data_samples]

    def compute_metrics(self, results: list) -> dict:
        """Average them."""
        return {"distance": sum(results) / len(results)}


class Act(Hook):
    """Do something after the hooks of an iteration, of training or of validation."""

    priority = "LOWEST"

    def __init__(self, acts: dict[tuple[str, int], Callable]) -> None:
        self.acts = acts

    def _at(self, moment: str, runner: Runner) -> None:
        if act := self.acts.get((moment, runner.iter)):
            act()

    def before_train_iter(self, runner: Runner, **_: object) -> None:
        """Act, or not."""
        self._at("before_train_iter", runner)

    def after_train_iter(self, runner: Runner, **_: object) -> None:
        """Act, or not."""
        self._at("after_train_iter", runner)

    def before_val_iter(self, runner: Runner, **_: object) -> None:
        """Act, or not."""
        self._at("before_val_iter", runner)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 kB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a disk takes root")
    yield folder
    subprocess.run(["umount", "-l", folder], capture_output=True)


@pytest.fixture
def toy_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., QuietRunner]]:
    """Train the toy for ten iterations, five an epoch, and return its runner.

    Its hooks see `acts`, by moment and iteration; an act may raise to end the run.
    """
    made: list[QuietRunner] = []
    # Processes and the disk take longer than the training.
    monkeypatch.setattr(QuietRunner, "_log_env", lambda *_: None)
    monkeypatch.setattr("mmengine.runner.runner.get_git_hash", lambda: "")
    monkeypatch.setattr(whole_files.os, "fsync", lambda _: None)

    def run(
        work_dir: Path,
        loop: str = "epoch",
        *,
        acts: dict[tuple[str, int], Callable] | None = None,
        resume: Path | None = None,
        build_only: bool = False,
        seed: int | None = 3,
        val_interval: int = 1,
        custom_hooks: list | None = None,
        accumulate: int = 1,
        **checkpoint: object,
    ) -> QuietRunner:
        epochs = loop == "epoch"
        kind, length = ("Epoch", "max_epochs") if epochs else ("Iter", "max_iters")
        data = {"batch_size": 2, "num_workers": 0, "dataset": Noisy()}
        sampler = "DefaultSampler" if epochs else "InfiniteSampler"
        hook = {"type": "swin_mm.SafeCheckpointHook", "interval": 1, "by_epoch": epochs}
        torch.manual_seed(0)
        runner = QuietRunner(
            model=Toy(),
            work_dir=str(work_dir),
            train_dataloader={**data, "sampler": {"type": sampler}},
            val_dataloader={**data, "sampler": {"type": "DefaultSampler", "shuffle": False}},
            val_evaluator=Evaluator([Distance()]),
            train_cfg={
                "type": f"swin_mm.Resumable{kind}Loop",
                length: 2 if epochs else 10,
                "val_interval": val_interval if epochs else 5 * val_interval,
            },
            val_cfg={},
            optim_wrapper={
                "optimizer": {"type": "Adam", "lr": 0.1},
                "accumulative_counts": accumulate,
            },
            default_hooks={"checkpoint": {**hook, **checkpoint}},
            custom_hooks=[*(custom_hooks or []), Act(acts or {})],
            randomness={"seed": seed},
            load_from=resume and str(resume),
            resume=resume is not None,
            cfg=Config({}),
            experiment_name=f"{work_dir.name}_{len(made)}_{id(made)}",
            default_scope="mmengine",
        )
        made.append(runner)
        if not build_only:
            runner.train()
        return runner

    yield run
    for runner in made:
        for hook in runner.hooks:
            if isinstance(hook, SafeCheckpointHook):
                hook.end()
