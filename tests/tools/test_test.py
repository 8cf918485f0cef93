"""`tools/test.py` from the command line."""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch

from swin_mm.checkpoints import save_checkpoint, to_layout


def test_the_config_that_training_wrote_tests_its_checkpoint(
    trained: Any, start: Callable, tmp_path: Path
) -> None:
    show, out = tmp_path / "to look at", tmp_path / "found.json"
    words = ["tools/test.py", str(trained.config), str(trained.checkpoint)]
    words += ["--show-dir", str(show), "--out", str(out), "--work-dir", str(tmp_path / "work")]
    options = ["--cfg-options", "model.test_cfg.rcnn.score_thr=0.0"]
    ended = start(sys.executable, *words, *options)
    assert ended.code == 0, ended.err
    assert "2 pictures" in ended.out
    assert "mask AP50" in ended.out
    pictures = [cv2.imread(str(path)) for path in sorted(show.glob("*.png"))]
    assert [picture.shape[1:] for picture in pictures] == [(192, 3)] * 2  # truth | prediction
    assert all(72 < len(picture) < 100 for picture in pictures)  # their names above
    found = json.loads(out.read_text())
    assert {one["image_id"] for one in found} == {1000001, 1000002}
    assert {"bbox", "score", "segmentation", "category_id"} <= set(found[0])
    assert str(out) in ended.out


def test_a_segmentor_is_tested_at_once_and_augmented(
    call: Callable, small: dict, tmp_path: Path
) -> None:
    words = ["configs/upernet_swin_t.py", "--weights", "none", "--max-iters", "1"]
    call("train.py", *words, "--work-dir", str(tmp_path), *small["segmentation"])
    words = [str(tmp_path / "upernet_swin_t.py"), str(tmp_path / "iter_1.pth")]
    for more in ([], ["--tta"]):
        ended = call("test.py", *words, *more, "--out", str(tmp_path / "found.pkl"), "--force")
        assert ended.code == 0, ended.err
        assert "mIoU  " in ended.out
        assert len(pickle.loads((tmp_path / "found.pkl").read_bytes())) == 2


def test_a_checkpoint_of_another_model_is_an_error_that_names_the_right_config(
    trained: Any, call: Callable, tiny_scenes: Path, tmp_path: Path
) -> None:
    words = ["configs/mask_rcnn_swin_t.py", str(trained.checkpoint)]
    words += ["--data-root", str(tiny_scenes), "--work-dir", str(tmp_path)]
    ended = call("test.py", *words)
    assert ended.code == 2
    assert "8 channels in stage 0, the model 96" in ended.err
    assert str(trained.config) in ended.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere.pth"], "there is no checkpoint nowhere.pth"),
        (["LICENSE", "--out", "found.csv"], "--out must end in"),
        (["LICENSE", "--data-root", "nowhere"], "there is no folder"),
        (["LICENSE", "--tta", "--cfg-options", "tta_model=None"], "tta_pipeline"),
        ([], "required: checkpoint"),
    ],
)
def test_what_cannot_be_done_is_one_error_and_exit_code_two(
    words: list[str], says: str, call: Callable, tiny_scenes: Path
) -> None:
    if "--data-root" not in words:
        words += ["--data-root", str(tiny_scenes)]
    ended = call("test.py", "configs/mask_rcnn_swin_t.py", *words)
    assert ended.code == 2
    assert ended.err.count("error: ") == 1
    assert says in ended.err


def test_older_predictions_are_not_replaced_unless_forced(
    trained: Any, call: Callable, tmp_path: Path
) -> None:
    older = tmp_path / "found.json"
    older.write_text("[]")
    words = [str(trained.config), str(trained.checkpoint), "--out", str(older)]
    ended = call("test.py", *words, "--work-dir", str(tmp_path))
    assert ended.code == 2
    assert f"{older} exists: --force replaces it" in ended.err
    assert older.read_text() == "[]"


def test_a_file_that_is_no_checkpoint_is_an_error(
    call: Callable, tiny_scenes: Path, tmp_path: Path
) -> None:
    words = ["configs/upernet_swin_t.py", "LICENSE"]
    words += ["--data-root", str(tiny_scenes), "--work-dir", str(tmp_path)]
    ended = call("test.py", *words)
    assert ended.code == 2
    assert "LICENSE" in ended.err


@pytest.mark.nightly
def test_two_processes_of_torchrun_test_a_detector_together(
    trained: Any, start: Callable, tmp_path: Path, port: str
) -> None:
    show, out = tmp_path / "show", tmp_path / "found.json"
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    run += ["--master-port", port, "tools/test.py", str(trained.config), str(trained.checkpoint)]
    run += ["--launcher", "pytorch", "--work-dir", str(tmp_path / "work")]
    run += ["--show-dir", str(show), "--out", str(out)]
    ended = start(*run, "--cfg-options", "model.test_cfg.rcnn.score_thr=0.0")
    assert ended.code == 0, ended.err
    assert ended.out.count("mask AP50") == 1
    assert len(list(show.glob("*.png"))) == 2
    assert {one["image_id"] for one in json.loads(out.read_text())} == {1000001, 1000002}


def official(checkpoint: Path) -> dict[str, torch.Tensor]:
    """A detector's tensors, the backbone's under the authors' names."""
    tensors = torch.load(checkpoint, weights_only=False)["state_dict"]
    backbone = {k.removeprefix("backbone."): v for k, v in tensors.items() if k[:9] == "backbone."}
    heads = {name: value for name, value in tensors.items() if name[:9] != "backbone."}
    written = to_layout(backbone, "microsoft-dense")
    return {**{f"backbone.{name}": value for name, value in written.items()}, **heads}


def test_other_peoples_files_of_a_detector_find_what_its_own_does(
    trained: Any, call: Callable, tmp_path: Path
) -> None:
    tensors = official(trained.checkpoint)
    files = {
        "parallel.pth": {"model": {f"module.{name}": value for name, value in tensors.items()}},
        "arrays.pkl": tensors,
    }
    for name, content in files.items():
        save_checkpoint(content, tmp_path / name)
    found = {}
    for path in (trained.checkpoint, *(tmp_path / name for name in files)):
        words = [str(trained.config), str(path), "--out", str(tmp_path / "found.json"), "--force"]
        words += ["--work-dir", str(tmp_path / "work")]
        ended = call("test.py", *words, "--cfg-options", "model.test_cfg.rcnn.score_thr=0.0")
        assert ended.code == 0, ended.err
        found[path.name] = json.loads((tmp_path / "found.json").read_text())
    own = found.pop("iter_2.pth")
    assert len(own) > 0
    assert {name: one == own for name, one in found.items()} == dict.fromkeys(files, True)


@pytest.mark.parametrize("prefix", ["", "backbone."])
def test_a_backbone_alone_is_not_tested(
    trained: Any, call: Callable, tmp_path: Path, prefix: str
) -> None:
    tensors = official(trained.checkpoint)
    backbone = {name[9:]: value for name, value in tensors.items() if name[:9] == "backbone."}
    torch.save({"model": {prefix + k: v for k, v in backbone.items()}}, tmp_path / "imagenet.pth")
    words = [str(trained.config), str(tmp_path / "imagenet.pth")]
    ended = call("test.py", *words, "--work-dir", str(tmp_path / "work"))
    assert ended.code == 2
    assert "imagenet.pth: a checkpoint must fill the whole model" in ended.err
    assert "parameters of neck, rpn_head, roi_head, the first neck." in ended.err
    assert "backbone alone" in ended.err
