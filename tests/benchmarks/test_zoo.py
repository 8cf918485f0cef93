"""A step of every config: at full size in the pipeline, on small networks here."""

import json
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("mmdet.models")

import zoo  # benchmarks/zoo.py: conftest.py says where it lies
from mmengine.config import Config
from model_facts import CONFIGS, read
from shrinking import shrunk

from swin_mm.engine.channels import match_channels
from swin_mm.engine.config import import_host
from swin_mm.engine.image_scale import scale_pictures
from swin_mm.engine.notes import Notes

KINDS = ["mask2former_instance_swin_t", "retinanet_swin_t", "upernet_swin_t"]
SAID = {"picture": "64x64", "seconds": 1.0, "peak MB": 9, "loss": 2.0, "finite": True}


def small(name: str) -> Config:
    cfg = read(name)
    scale_pictures(cfg, 0.12, Notes(False))
    options = shrunk(cfg)
    cfg.merge_from_dict(options)
    import_host(cfg)
    match_channels(cfg, options, Notes(False))
    return cfg


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch):
    """Let steps be taken by a line of Python."""

    def becomes(code: str) -> None:
        monkeypatch.setattr(zoo, "STEP", (sys.executable, "-c", code))

    return becomes


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no scenes: nobody looks."""
    monkeypatch.setattr(zoo, "write_scenes", lambda *_, **__: None)


@pytest.mark.usefixtures("own_mmengine")
@pytest.mark.parametrize(
    "name", ["mask2former_instance_swin_t", "retinanet_swin_t", "upernet_swin_t"]
)
def test_a_step_tells_picture_time_memory_and_loss(name: str, tiny_scenes: Path) -> None:
    found = zoo.take_step(small(name), tiny_scenes)
    assert found["finite"]
    assert found["loss"] > 0
    assert found["seconds"] > 0
    assert found["peak MB"] > found["above the model MB"] >= 0
    height, width = map(int, found["picture"].split("x"))
    assert min(height, width) >= 61


@pytest.mark.usefixtures("own_mmengine")
def test_a_loss_that_is_no_number_is_told(tiny_scenes: Path, monkeypatch) -> None:
    cfg = small("retinanet_swin_t")
    cfg.optim_wrapper.optimizer.lr = float("inf")
    assert not zoo.take_step(cfg, tiny_scenes)["finite"]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_largest_of_a_recipes_sizes_is_taken(name: str) -> None:
    cfg = read(name)
    steps = {step["type"]: step for step in zoo.largest(cfg.train_dataloader.dataset.pipeline)}
    assert "RandomChoice" not in steps
    if "RandomChoiceResize" in steps:
        (size,) = steps["RandomChoiceResize"]["scales"]
        assert size in ((800, 1333), 1024, 1280)
    elif cfg.zoo.method == "RetinaNet":
        assert steps["Resize"]["scale"] == (1333, 800)
    else:
        assert steps["RandomCrop"]["crop_size"] in ((512, 512), (640, 640), (1024, 1024))


@pytest.mark.usefixtures("world")
def test_a_second_run_goes_on_where_the_first_was_stopped(
    child, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "results/zoo.json"
    child(f"print({json.dumps(json.dumps(SAID))})")
    words = ["--out", str(out), "--machine", "mine", "--configs"]
    assert zoo.main([*words, "upernet_swin_t"]) == 0
    assert zoo.main([*words, "upernet_swin_t", "sem_fpn_swin_t"]) == 0
    held = json.loads(out.read_text())
    assert list(held["steps"]) == ["upernet_swin_t", "sem_fpn_swin_t"]
    assert [step["run"] for step in held["steps"].values()] == [0, 1]
    assert [run["machine"] for run in held["runs"]] == ["mine", "mine"]
    assert "one training step" in held["what"]
    assert capsys.readouterr().out.count("upernet_swin_t") == 1
    assert zoo.main([*words, "upernet_swin_t", "--again"]) == 0
    assert json.loads(out.read_text())["steps"]["upernet_swin_t"]["run"] == 2
    assert list(out.parent.iterdir()) == [out]


def test_the_smallest_come_first() -> None:
    names = zoo.in_order(["dino_swin_l", "upernet_swin_t", "sem_fpn_swin_t"])
    assert names == ["sem_fpn_swin_t", "upernet_swin_t", "dino_swin_l"]


def test_a_process_that_outgrows_the_limit_is_ended(child) -> None:
    child("import time; held = bytearray(300 * 2**20); time.sleep(60)")
    start = time.monotonic()
    assert zoo.watch(zoo.STEP, 0.2) == {"why not": "does not fit 0.2 GiB"}
    assert time.monotonic() - start < 30


def test_one_that_the_system_ends_does_not_fit_either(child) -> None:
    child("import os; os.kill(os.getpid(), 9)")
    assert zoo.watch(zoo.STEP, 8)["why not"] == "does not fit 8 GiB"


@pytest.mark.usefixtures("world")
def test_one_that_fails_is_told_and_not_kept(
    child, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    child("raise SystemExit('no such thing')")
    out = tmp_path / "zoo.json"
    assert zoo.main(["--configs", "upernet_swin_t", "--out", str(out)]) == 1
    assert "upernet_swin_t: failed: no such thing" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--configs", "upernet"], "invalid choice"),
        (["--limit", "0"], "--limit must be above 0"),
        (["--threads", "0"], "--threads at least 1"),
        (["--step", "upernet_swin_t"], "--step needs --data"),
    ],
)
def test_a_wrong_command_line_says_why(words: list, told: str, capsys) -> None:
    with pytest.raises(SystemExit):
        zoo.main(words)
    assert told in capsys.readouterr().err
