"""The tool as a user starts it; what is inside is tested in tests/inference."""

import json
import subprocess
import sys
import time
from pathlib import Path

import cv2
import pytest
import torch

from swin_mm.checkpoints import save_checkpoint, to_layout
from swin_mm.data import render_scene

CONFIG = "configs/mask_rcnn_swin_t.py"


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("my photos")
    cv2.imwrite(str(folder / "1.jpg"), render_scene(0, 0, size=(64, 48)).image)
    (folder / "2.jpg").write_text("no picture")
    return folder


def test_a_training_leaves_what_infer_takes(start, trained, photos, tmp_path):
    out = tmp_path / "what was found"
    words = [str(trained.config), str(trained.checkpoint), str(photos / "1.jpg"), "--out", str(out)]
    ended = start(sys.executable, "tools/infer.py", *words, "--score-thr", "0")
    assert ended.code == 0, ended.err
    assert "Device: " in ended.out
    assert "Predicted on 1 of 1 pictures" in ended.out
    found = len(json.loads((out / "predictions.json").read_text()))
    assert f"instances      {found}, of which {found} are drawn" in ended.out
    assert "1/1" in ended.err
    assert (out / "overlays/1.png").is_file()
    assert all(
        entry["image_id"] == 1 for entry in json.loads((out / "predictions.json").read_text())
    )


def test_a_broken_picture_is_told_by_exit_code_1(call, trained, photos, tmp_path):
    words = [str(trained.config), str(trained.checkpoint), str(photos), "--out", str(tmp_path)]
    ended = call("infer.py", *words)
    assert ended.code == 1
    assert f"1 skipped:\n  {photos}/2.jpg is not a picture" in ended.err
    assert (tmp_path / "overlays/1.png").is_file()


@pytest.mark.parametrize(
    ("place", "word", "message"),
    [
        (0, "configs/mask_rcnn_swin_x.py", "did you mean configs/mask_rcnn_swin_t.py"),
        (1, "nowhere.pth", "no such checkpoint: nowhere.pth"),
        (2, "nowhere.jpg", "no picture nowhere.jpg"),
    ],
)
def test_what_is_missing_is_one_message_and_exit_code_2(
    call, photos, tmp_path, place, word, message
):
    words = [CONFIG, "iter_2.pth", str(photos / "1.jpg")]
    words[place] = word
    ended = call("infer.py", *words, "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--device", "gpu"), "--device gpu cannot be used here"),
        (("--cfg-options", "model.rpnhead.x=1"), "did you mean rpn_head"),
        (("--score", "1"), "unknown option --score; did you mean --score-thr"),
    ],
)
def test_a_wrong_option_is_one_message_and_exit_code_2(call, photos, tmp_path, options, message):
    words = [CONFIG, "iter_2.pth", str(photos / "1.jpg"), "--out", str(tmp_path / "out")]
    ended = call("infer.py", *words, *options)
    assert ended.code == 2
    assert message in ended.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--classes", "persn"), "no class 'persn' (--classes); did you mean person"),
        (("--batch-size", "0"), "--batch-size"),
        (("--tile", "100", "--overlap", "60"), "1 to 50 px, got 60"),
        (("--score-thr", "2"), "between 0 and 1, got 2"),
        (("--overlay-side", "0"), "--overlay-side"),
    ],
)
def test_an_option_without_meaning_leaves_no_folder(
    call, trained, photos, tmp_path, options, message
):
    words = [str(trained.config), str(trained.checkpoint), str(photos / "1.jpg")]
    ended = call("infer.py", *words, "--out", str(tmp_path / "out"), *options)
    assert ended.code == 2
    assert message in ended.err
    assert not (tmp_path / "out").exists()


def test_every_option_at_once(call, trained, photos, tmp_path):
    words = [str(trained.config), str(trained.checkpoint), f"{photos}/[1].*", "--out"]
    words += [str(tmp_path), "--tta", "--amp", "--tile", "48", "--overlap", "8"]
    words += ["--batch-size", "2", "--classes", "person", "Kite", "--score-thr", "0.1"]
    ended = call("infer.py", *words, "--overlay-side", "40", "--device", "cpu")
    assert ended.code == 0, ended.err
    assert cv2.imread(str(tmp_path / "overlays/1.png")).shape == (30, 40, 3)
    told = json.loads((tmp_path / "run.json").read_text())
    assert (told["tta"], told["amp"], told["tile"]) == (True, True, 48)
    assert told["classes"] == ["person", "kite"]
    found = json.loads((tmp_path / "predictions.json").read_text())
    assert {entry["category"] for entry in found} <= {"person", "kite"}


def test_the_backbone_is_compiled_on_request(call, trained, photos, tmp_path, monkeypatch):
    compiled = []

    def compile_nothing(function, **_):
        compiled.append(function)
        return function

    monkeypatch.setattr(torch, "compile", compile_nothing)
    words = [str(trained.config), str(trained.checkpoint), str(photos / "1.jpg")]
    ended = call("infer.py", *words, "--out", str(tmp_path), "--compile")
    assert ended.code == 0 and compiled


def test_what_was_killed_goes_on_where_it_was(call, root, environment, trained, photos, tmp_path):
    many, out = tmp_path / "many", tmp_path / "out"
    many.mkdir()
    for number in range(40):
        (many / f"{number}.jpg").write_bytes((photos / "1.jpg").read_bytes())
    words = [str(trained.config), str(trained.checkpoint), str(many), "--out", str(out)]
    command = [sys.executable, "tools/infer.py", *words]
    with subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.DEVNULL) as job:
        while len(list(out.glob("parts/*.jsonl"))) < 3:
            assert job.poll() is None
            time.sleep(0.02)
        job.kill()
    before = len(list(out.glob("parts/*.jsonl")))
    assert before < 40
    ended = call("infer.py", *words)
    assert ended.code == 0, ended.err
    assert f"Predicted on 40 of 40 pictures ({before} of them before)" in ended.out
    assert len(list(out.glob("overlays/*"))) == 40
    found = json.loads((out / "predictions.json").read_text())
    assert len({entry["image_id"] for entry in found}) in (0, 40)
    assert not list(out.rglob("*.part"))


def test_another_run_does_not_go_on_with_this_ones_results(call, trained, photos, tmp_path):
    words = [str(trained.config), str(trained.checkpoint), str(photos / "1.jpg"), "--out"]
    assert call("infer.py", *words, str(tmp_path)).code == 0
    ended = call("infer.py", *words, str(tmp_path), "--tile", "512")
    assert ended.code == 2
    assert "there tile none, overlap 256; now tile 512, overlap 128" in ended.err
    assert call("infer.py", *words, str(tmp_path), "--tile", "512", "--force").code == 0


def test_older_results_are_not_overwritten_unasked(call, photos, tmp_path):
    (tmp_path / "predictions.json").write_text("[]")
    ended = call("infer.py", CONFIG, "iter_2.pth", str(photos / "1.jpg"), "--out", str(tmp_path))
    assert ended.code == 2
    assert "--force" in ended.err


@pytest.fixture(scope="module")
def parts(trained) -> tuple[dict, dict]:
    """The trained detector's backbone under the authors' names, and the rest of it."""
    tensors = torch.load(trained.checkpoint, weights_only=False)["state_dict"]
    backbone = {k.removeprefix("backbone."): v for k, v in tensors.items() if k[:9] == "backbone."}
    rest = {name: value for name, value in tensors.items() if name[:9] != "backbone."}
    return to_layout(backbone, "microsoft-dense"), rest


@pytest.mark.parametrize("name", ["parallel.pth", "outer.safetensors", "arrays.pkl"])
def test_other_peoples_files_predict_what_the_trained_one_does(
    call, trained, parts, photos, tmp_path, name
):
    tensors = {**{f"backbone.{key}": value for key, value in parts[0].items()}, **parts[1]}
    form = {"parallel.pth": "module.{}", "outer.safetensors": "detector.{}"}.get(name, "{}")
    tensors = {form.format(key): value for key, value in tensors.items()}
    save_checkpoint({"model": tensors} if name.endswith(".pth") else tensors, tmp_path / name)
    told = []
    for number, checkpoint in enumerate((trained.checkpoint, tmp_path / name)):
        out = tmp_path / str(number)
        words = [str(trained.config), str(checkpoint), str(photos / "1.jpg"), "--out", str(out)]
        ended = call("infer.py", *words)
        assert ended.code == 0, ended.err
        told.append(json.loads((out / "predictions.json").read_text()))
    assert told[0] == told[1]


@pytest.mark.parametrize("prefix", ["", "backbone."])
def test_a_backbone_alone_does_not_predict(call, trained, parts, photos, tmp_path, prefix):
    tensors = {prefix + name: value for name, value in parts[0].items()}
    torch.save({"model": tensors}, tmp_path / "imagenet.pth")
    words = [str(trained.config), str(tmp_path / "imagenet.pth"), str(photos / "1.jpg")]
    ended = call("infer.py", *words, "--out", str(tmp_path / "out"))
    assert ended.code == 2
    assert "it holds a backbone alone, nothing for neck, rpn_head, roi_head" in ended.err
