"""`tools/check_data.py` as a user starts it: what it prints, writes, and ends with."""

import json
import shutil

import pytest

CONFIG = "configs/mask_rcnn_swin_t.py"


def test_sound_data_end_with_0(call, tiny_scenes):
    ended = call("check_data.py", CONFIG, "--data-root", str(tiny_scenes), "--workers", "0")
    assert ended.code == 0
    assert "6 pictures, all looked at" in ended.out and ended.out.endswith("0 errors, 0 notes\n")
    assert "6/6" in ended.err  # the bar


def test_faults_end_with_1_and_are_written(call, tiny_scenes, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    broken = sorted((tmp_path / "scenes/val2017").iterdir())[0]
    broken.write_bytes(b"")
    words = ["--data-root", str(tmp_path / "scenes"), "--json", str(tmp_path / "faults.json")]
    ended = call("check_data.py", CONFIG, *words, "--workers", "1", "--split", "val")
    assert ended.code == 1
    assert f"{broken}: image 1000001: 0 bytes" in ended.out and "train" not in ended.out
    content = json.loads((tmp_path / "faults.json").read_text())
    assert content["errors"] == 1
    assert content["data_sets"][0]["rules"][0]["first"][0]["file"] == str(broken)


def test_a_sample_opens_some_pictures_drawn_from_a_seed(call, tiny_scenes, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    for path in (tmp_path / "scenes/train2017").iterdir():
        path.write_bytes(b"")
    words = ["--data-root", str(tmp_path / "scenes"), "--workers", "0", "--split", "train"]
    told = {
        seed: call("check_data.py", CONFIG, *words, "--sample", "2", "--seed", seed).out
        for seed in "012"
    }
    assert all("file-empty, 2" in out and "2 looked at" in out for out in told.values())
    assert len(set(told.values())) > 1


def test_settings_of_the_config_are_taken(call, tiny_scenes):
    setting = "train_dataloader.dataset.ann_file=annotations/none.json"
    words = ["--data-root", str(tiny_scenes), "--workers", "0", "--cfg-options", setting]
    ended = call("check_data.py", CONFIG, *words)
    assert ended.code == 1 and "annotations-missing" in ended.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["configs/mask_rcnn_swin.py"], "there is no config configs/mask_rcnn_swin.py"),
        ([CONFIG, "--sample", "-3"], "must be a whole number from 0 on, got -3"),
        ([CONFIG, "--workers", "two"], "must be a whole number from 0 on, got two"),
        ([CONFIG, "--split", "trian"], "invalid choice: 'trian'"),
        ([CONFIG, "--data-root", "nowhere"], "there is no folder nowhere"),
        ([CONFIG, "--json", "nowhere/faults.json"], "--json: there is no folder nowhere"),
        ([CONFIG, "--jsn", "faults.json"], "did you mean --json?"),
        ([CONFIG, "--cfg-options", "test_dataloader=None", "--split", "test"], "no data for test"),
    ],
)
def test_what_cannot_be_asked_ends_with_2_and_no_traceback(call, words, told):
    ended = call("check_data.py", *words)
    assert ended.code == 2
    assert told in ended.err and "Traceback" not in ended.err
