"""The README's command that trains in several processes, against the one that trains in one."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from toy_training import apart

from swin_mm.checkpoints import read_checkpoint
from swin_mm.data import write_scenes

# UPerNet's recipe, its pictures' augmentation too, but for what tells one batch from its halves:
# norms over a batch, dropout, and AdamW, which makes of a gradient's last bits a step's first.
CONFIG = """
_base_ = ["{recipe}"]
norm_cfg = dict(_delete_=True, type="GN", num_groups=2)
head = dict(norm_cfg=norm_cfg, channels=8, dropout_ratio=0.0)
model = dict(
    backbone=dict(
        embed_dims=8, depths=[2, 1, 2, 1], num_heads=[1, 1, 2, 2], drop_path_rate=0.0, init_cfg=None
    ),
    decode_head=dict(in_channels=[8, 16, 32, 64], **head),
    auxiliary_head=dict(in_channels=32, **head),
)
optim_wrapper = dict(
    _delete_=True, type="OptimWrapper", optimizer=dict(type="SGD", lr=0.01, momentum=0.9)
)
param_scheduler = None
train_dataloader = dict(num_workers=0)
val_dataloader = dict(num_workers=0)
"""


@pytest.fixture(scope="module")
def arguments(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What follows `tools/train.py`; two batches of four have every picture once."""
    folder = tmp_path_factory.mktemp("torchrun")
    write_scenes(folder / "scenes", train=8, val=2, seed=3, size=(96, 72), jobs=1)
    config = folder / "upernet.py"
    config.write_text(CONFIG.format(recipe=root / "configs/upernet_swin_t.py"))
    words = [config, "--data-root", folder / "scenes", "--weights", "none"]
    words += ["--image-scale", "0.12", "--max-iters", "5", "--seed", "1"]
    return list(map(str, words))


@pytest.fixture(scope="module")
def trained(root: Path, arguments: list[str]) -> Callable[..., dict[str, torch.Tensor]]:
    """Start a training as a user does; gives the weights that it saved."""

    def train(*launcher: str, batch: int, work_dir: Path, more: tuple[str, ...] = ()) -> dict:
        words = [*launcher, "tools/train.py", *arguments, "--work-dir", str(work_dir), *more]
        ended = subprocess.run(
            [sys.executable, *words, "--cfg-options", f"train_dataloader.batch_size={batch}"],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-4000:]
        saved = read_checkpoint(work_dir / "iter_5.pth")["state_dict"]
        return {name: one for name, one in saved.items() if one.is_floating_point()}

    return train


@pytest.fixture
def port() -> str:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_two_processes_of_torchrun_leave_what_one_process_does(
    trained: Callable, port: str, tmp_path: Path
) -> None:
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", port]
    alone = trained(batch=4, work_dir=tmp_path / "one")
    both = trained(*torchrun, batch=2, work_dir=tmp_path / "two", more=("--launcher", "pytorch"))
    assert apart(both, alone) <= 1e-6
