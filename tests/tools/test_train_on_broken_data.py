"""`tools/train.py` on data of which a picture is broken."""

import json
import shutil

import pytest


@pytest.fixture
def broken(small, tiny_scenes, tmp_path):
    """A picture of training that has no byte, and arguments for a training of three iterations."""
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    picture = min((tmp_path / "scenes/train2017").iterdir())
    picture.write_bytes(b"")
    words = ["configs/mask_rcnn_swin_t.py", "--weights", "none", *small["detection"], "--seed", "0"]
    words += ["--data-root", str(tmp_path / "scenes"), "--work-dir", str(tmp_path / "work")]
    return picture, [*words, "--max-iters", "3"]


def test_it_stops_before_it_begins(call, broken, tmp_path):
    picture, words = broken
    ended = call("train.py", *words)
    assert ended.code == 2 and "Traceback" not in ended.err
    assert "train: error file-empty, 1" in ended.err and f"{picture}: image 1: 0 bytes" in ended.err
    assert "tools/check_data.py CONFIG" in ended.err and "--skip-broken" in ended.err
    assert not (tmp_path / "work").exists()


def test_it_leaves_out_what_cannot_be_loaded_if_told_to(call, broken, tmp_path):
    picture, words = broken
    ended = call("train.py", *words, "--skip-broken")
    assert ended.code == 0, ended.err
    assert "file-empty 1" in ended.out
    told = json.loads((tmp_path / "work/skipped_pictures.json").read_text())
    assert told[str(picture)]["why"] == "0 bytes"


def test_it_meets_the_picture_if_it_is_not_to_look(call, broken):
    _, words = broken
    with pytest.raises(Exception, match="OpenCV"):
        call("train.py", *words, "--no-check")
