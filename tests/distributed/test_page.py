"""The script of docs/distributed.md, as its reader starts it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from swin_mm import SwinTransformer
from swin_mm.checkpoints import load_pretrained


@pytest.mark.nightly
def test_the_script_trains_saves_and_goes_on_in_two_processes(root: Path, tmp_path: Path) -> None:
    page = (root / "docs/distributed.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "train_sharded.py").write_text(code)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", *torchrun, "train_sharded.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    small = {"embed_dims": 16, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
    report = load_pretrained(SwinTransformer(**small, out_indices=(0, 1)), tmp_path / "sharded.pth")
    assert not report.missing
