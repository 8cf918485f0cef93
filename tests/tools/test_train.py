"""`tools/train.py` from the command line."""

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import MAINTAINED

from swin_mm.checkpoints import read_checkpoint, to_layout

DETECTOR = "configs/mask_rcnn_swin_t.py"
SEGMENTOR = "configs/upernet_swin_t.py"
NOWHERE = "http://127.0.0.1:9/swin_of_nobody.pth"


def losses(checkpoint: Path) -> np.ndarray:
    """Read the loss of each iteration out of a checkpoint."""
    hub = read_checkpoint(checkpoint)["message_hub"]
    return hub["log_scalars"]["train/loss"].data[0]


def test_a_run_shows_its_progress_and_ends_with_where_everything_lies(trained: Any) -> None:
    assert trained.ended.code == 0, trained.ended.err
    out = trained.ended.out
    assert re.search(r"Iter\(train\) \[2/2\].* eta: 0:00:00", out)
    assert "Device: cpu" in out
    assert "Seed: 4" in out
    report = out[out.index("Trained 2 iterations in") :]
    paths = re.findall(r"/.*\.(?:pth|png)", report)
    assert [os.path.basename(path) for path in paths] == [
        "iter_2.pth",
        "loss.png",
        "000001000001.png",
        "000001000002.png",
    ]
    assert all(os.path.getsize(path) > 1000 for path in paths)


def test_training_from_scratch_is_warned_of(trained: Any) -> None:
    assert "WARNING: training from scratch" in trained.ended.err


def test_the_preamble_is_a_few_lines(trained: Any) -> None:
    before = trained.ended.out.partition("Iter(train)")[0]
    assert len(before.splitlines()) < 40


def test_a_run_goes_on_from_its_newest_checkpoint(
    trained: Any, call: Callable, tmp_path: Path
) -> None:
    words = list(trained.words)
    words[words.index(str(trained.work_dir))] = str(tmp_path)
    (tmp_path / "iter_2.pth").write_bytes(trained.checkpoint.read_bytes())
    ended = call("train.py", *words, "--resume", "--max-iters", "4")
    assert ended.code == 0, ended.err
    assert "Resume: " in ended.out
    assert "Iter(train) [3/4]" in ended.out
    assert "Iter(train) [2/4]" not in ended.out
    assert "Trained iterations 3 to 4 in" in ended.out
    assert losses(tmp_path / "iter_4.pth")[:2] == pytest.approx(losses(trained.checkpoint))
    assert len(losses(tmp_path / "iter_4.pth")) == 4


def test_one_seed_means_one_course(call: Callable, small: dict, tmp_path: Path) -> None:
    for name, seed in (("one", "5"), ("same", "5"), ("other", "6")):
        words = [SEGMENTOR, "--weights", "none", "--seed", seed, "--max-iters", "2"]
        words += ["--work-dir", str(tmp_path / name), *small["segmentation"]]
        assert call("train.py", *words).code == 0
    one, same, other = (
        losses(tmp_path / f"{name}/iter_2.pth") for name in ("one", "same", "other")
    )
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


@pytest.mark.nightly  # tests/distributed/test_torchrun.py holds a shorter one
def test_two_processes_of_torchrun_train_a_segmentor_together(
    start: Callable, small: dict, tmp_path: Path, port: str
) -> None:
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    run += ["--master-port", port, "tools/train.py", SEGMENTOR, "--launcher", "pytorch"]
    run += ["--weights", "none", "--max-iters", "2", "--work-dir", str(tmp_path)]
    ended = start(*run, *small["segmentation"])
    assert ended.code == 0, ended.err
    assert ended.out.count("SyncBN needs a GPU: BN in its place") == 1
    assert ended.out.count("Trained 2 iterations in") == 1
    assert "Batch: 4" in ended.out
    assert "Iter(val) [1/1]" in ended.out  # two pictures, one for each process
    assert len(losses(tmp_path / "iter_2.pth")) == 2


@pytest.mark.nightly
def test_two_tasks_of_slurm_train_a_detector_together(
    root: Path, environment: dict, small: dict, tmp_path: Path, port: str
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text("#!/bin/sh\necho 127.0.0.1\necho another\n")
    scontrol.chmod(scontrol.stat().st_mode | stat.S_IEXEC)
    words = [sys.executable, "tools/train.py", DETECTOR, "--launcher", "slurm"]
    words += ["--weights", "none", "--max-iters", "2", "--work-dir", str(tmp_path / "work")]
    slurm = {"SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "node[1-2]", "MASTER_PORT": port}
    slurm["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    tasks = [
        subprocess.Popen(
            [*words, *small["detection"]],
            cwd=root,
            env={**environment, **slurm, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    told = [task.communicate(timeout=300)[0] for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], told
    assert [text.count("Trained 2 iterations in") for text in told] == [1, 0]
    assert (tmp_path / "work/iter_2.pth").is_file()


@pytest.mark.skipif(not MAINTAINED, reason="the original MMSegmentation imports MMCV's operators")
def test_a_segmentor_trains_without_compiled_operators(
    start: Callable, small: dict, tmp_path: Path
) -> None:
    without = "import runpy, sys; sys.modules['mmcv._ext'] = None; sys.argv = sys.argv[1:]; "
    without += "runpy.run_path(sys.argv[0], run_name='__main__')"
    words = ["tools/train.py", SEGMENTOR, "--weights", "none", "--max-iters", "1"]
    words += ["--work-dir", str(tmp_path), *small["segmentation"]]
    ended = start(sys.executable, "-c", without, *words)
    assert ended.code == 0, ended.err
    assert "mIoU" in ended.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["configs/mask_rcnn.py"], "did you mean configs/mask_rcnn_swin_t.py"),
        ([DETECTOR, "--data-root", "nowhere"], "there is no folder nowhere"),
        ([DETECTOR, "--max-iter", "3"], "did you mean --max-iters"),
        ([DETECTOR, "--weights", "nowhere.pth"], "there is no weight file nowhere.pth"),
        ([DETECTOR, "--weights", NOWHERE], "--weights none"),
        ([DETECTOR, "--resume", "nowhere.pth"], "--resume: there is no file nowhere.pth"),
        ([DETECTOR, "--max-iters", "0"], "at least 1"),
        ([DETECTOR, "--max-iters", "many"], "invalid int value"),
        ([DETECTOR, "--image-scale", "0"], "above 0"),
        ([DETECTOR, "--amp", "--weights", "none"], "--amp needs a GPU"),
        ([DETECTOR, "--launcher", "pytorch", "--weights", "none"], "torchrun"),
        ([DETECTOR, "--cfg-options", "model.neck.out_chanels=3"], "did you mean out_channels"),
        ([DETECTOR, "--cfg-options", "model.backbone.variant=huge"], "variant must be one of"),
    ],
)
def test_what_cannot_be_done_is_one_error_and_exit_code_two(
    words: list[str],
    says: str,
    call: Callable,
    tiny_scenes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    if "--data-root" not in words:
        words = [words[0], "--data-root", str(tiny_scenes), *words[1:]]
    ended = call("train.py", *words)
    assert ended.code == 2
    assert ended.err.count("error: ") == 1
    assert says in ended.err


def test_missing_data_is_an_error_with_commands_that_work(
    call: Callable, root: Path, tmp_path: Path
) -> None:
    ended = call("train.py", str(root / DETECTOR), cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith("error: no train data at data/coco/")
    assert "instances_train2017.json does not exist" in ended.err
    tool = shlex.quote(str(root / "tools/make_scenes.py"))
    assert f"python {tool} data/scenes --images 1000 --seed 0" in ended.err
    assert "Traceback" not in ended.err
    assert list(tmp_path.iterdir()) == []


def test_weights_that_do_not_fit_are_an_error(call: Callable, small: dict, tmp_path: Path) -> None:
    wide = tmp_path / "wide.pth"
    torch.save({"model": {"patch_embed.proj.weight": torch.zeros(96, 3, 4, 4)}}, wide)
    words = [SEGMENTOR, "--weights", str(wide), "--work-dir", str(tmp_path / "work")]
    ended = call("train.py", *words, "--max-iters", "1", *small["segmentation"])
    assert ended.code == 2
    assert "no Swin found" in ended.err and "Download" not in ended.err


def test_a_whole_detectors_file_starts_necks_and_heads_too(
    trained: Any, call: Callable, tmp_path: Path
) -> None:
    whole = read_checkpoint(trained.checkpoint)["state_dict"]
    torch.save({"model": {f"module.{k}": v for k, v in whole.items()}}, tmp_path / "whole.pth")
    words = list(trained.words)
    words[words.index(str(trained.work_dir))] = str(tmp_path / "work")
    words[words.index("none")] = str(tmp_path / "whole.pth")
    still = ["optim_wrapper.optimizer.lr=0.0"]
    ended = call("train.py", *words, *still, "--max-iters", "1")
    assert ended.code == 0, ended.err
    assert "holds a whole model: its neck, roi_head, rpn_head are taken too" in ended.out
    assert "from scratch" not in ended.err
    after = read_checkpoint(tmp_path / "work/iter_1.pth")["state_dict"]
    assert [name for name in whole if not torch.equal(whole[name], after[name])] == []


def test_load_from_a_backbone_alone_starts_the_backbone_and_says_so(
    trained: Any, call: Callable, tmp_path: Path
) -> None:
    whole = read_checkpoint(trained.checkpoint)["state_dict"]
    backbone = {k.removeprefix("backbone."): v for k, v in whole.items() if k[:9] == "backbone."}
    torch.save(to_layout(backbone, "microsoft-dense"), tmp_path / "imagenet.pth")
    words = list(trained.words)
    words[words.index(str(trained.work_dir))] = str(tmp_path / "work")
    words = [word for word in words if word not in ("--weights", "none")]
    words += ["model.backbone.init_cfg=None", f"load_from={tmp_path / 'imagenet.pth'}"]
    ended = call("train.py", *words, "optim_wrapper.optimizer.lr=0.0", "--max-iters", "1")
    assert ended.code == 0, ended.err
    assert "fills model.backbone" in ended.out
    after = read_checkpoint(tmp_path / "work/iter_1.pth")["state_dict"]
    same = {name for name in whole if torch.equal(whole[name], after[name])}
    assert {name for name in whole if name.startswith("backbone.")} <= same
    assert "rpn_head.rpn_conv.weight" not in same
