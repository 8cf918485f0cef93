"""`tools/train.py` where numbers stop being finite."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swin_mm.checkpoints import read_checkpoint

SEGMENTOR = "configs/upernet_swin_t.py"
WILD = ["optim_wrapper.optimizer.lr=1e30", "param_scheduler.0.start_factor=1.0"]


def words(small: dict, folder: Path) -> list[str]:
    given = [SEGMENTOR, "--weights", "none", "--max-iters", "4", "--work-dir", str(folder)]
    return [*given, "--seed", "1", *small["segmentation"], *WILD]


def test_a_run_that_diverges_ends_with_the_story_and_exit_code_one(
    call: Callable, small: dict, tmp_path: Path
) -> None:
    ended = call("train.py", *words(small, tmp_path))
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert ended.err.count("error: ") == 1
    story = ended.err[ended.err.index("error: stopped before the update of iteration 2 ") :]
    assert re.search(r"first module whose output is not finite: \w+\.\S+ \(\w+\), \d+ ", story)
    assert len(re.findall(r"^    /.*\.(?:jpg|png)$", story, re.M)) == 2
    saved = tmp_path / "before_iter_2.pth"
    assert f"--resume {saved}" in story
    assert read_checkpoint(saved)["meta"]["iter"] == 1
    assert all(
        "inf" not in str(t.abs().max()) for t in read_checkpoint(saved)["state_dict"].values()
    )


@pytest.mark.nightly
def test_two_processes_stop_together_and_name_the_pictures_of_both(
    start: Callable, small: dict, tmp_path: Path, port: str
) -> None:
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    run += ["--master-port", port, "tools/train.py", "--launcher", "pytorch"]
    ended = start(*run, *words(small, tmp_path))
    assert ended.code == 1
    assert "error: stopped before the update of iteration 2 " in ended.err
    assert "error (local rank 1): stopped before the update of iteration 2 " in ended.err
    assert "process 0: pictures of the batch:" in ended.err
    assert "process 1: pictures of the batch:" in ended.err
    assert (tmp_path / "before_iter_2.pth").is_file()
