"""Which predictions a page shows."""

import json
import os
from pathlib import Path

import pytest
import torch
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.reporting.predicting import last_checkpoint, read_predictions

OBJECT = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0.5}


def test_predictions_are_objects_or_labelled_pixels(tmp_path: Path) -> None:
    pixels = {"image_id": "a.jpg", "category_id": 0, "segmentation": {}}
    (tmp_path / "found.json").write_text(json.dumps([OBJECT, pixels]))
    assert read_predictions(str(tmp_path / "found.json")) == [OBJECT, pixels]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2", "COCO's results format"),
        ('{"images": []}', "COCO's results format"),
        ('[{"image_id": 1, "category_id": 1, "score": 0.5}]', "1 entries lack bbox"),
        ('[{"image_id": 1, "category_id": 1}]', "lack segmentation"),
        (json.dumps([{**OBJECT, "image_id": [1]}]), "1 entries hold others, .'image_id': .1."),
        (json.dumps([{**OBJECT, "category_id": "cat"}]), "hold others"),
        (json.dumps([{**OBJECT, "score": float("nan")}]), "hold others"),
        (json.dumps([{**OBJECT, "bbox": [0, 0, 1]}]), "hold others"),
        (json.dumps([{**OBJECT, "bbox": None}]), "hold others"),
        (json.dumps([{**OBJECT, "segmentation": 3}]), "hold others"),
    ],
)
def test_other_files_are_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(UsageError, match=says):
        read_predictions(str(tmp_path / "found.json"))


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are no predictions"):
        read_predictions(str(tmp_path / "found.json"))


def test_the_last_checkpoint_is_the_one_that_the_run_noted_if_it_is_whole(tmp_path: Path) -> None:
    for age, name in enumerate(("iter_10.pth", "iter_20.pth")):
        meta = {"iter": 10 + 10 * age, "time": "20261130_090000"}
        torch.save({"meta": meta, "message_hub": {}, "state_dict": {}}, tmp_path / name)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))  # as after a careless copy
    assert last_checkpoint(str(tmp_path), Config()) == str(tmp_path / "iter_20.pth")
    (tmp_path / "last_checkpoint").write_text("/elsewhere/iter_20.pth")
    assert last_checkpoint(str(tmp_path), Config()) == str(tmp_path / "iter_20.pth")
    (tmp_path / "iter_20.pth").write_text("broken off")
    assert last_checkpoint(str(tmp_path), Config()) == str(tmp_path / "iter_10.pth")
    for path in tmp_path.glob("*.pth"):
        path.unlink()
    assert last_checkpoint(str(tmp_path), Config()) is None


def test_the_last_checkpoint_is_found_where_and_as_the_config_saves_it(tmp_path: Path) -> None:
    work_dir, elsewhere = tmp_path / "run", tmp_path / "large" / "run"
    for folder in (work_dir, elsewhere):
        folder.mkdir(parents=True)
    torch.save({"meta": {"iter": 10}, "message_hub": {}}, elsewhere / "step-10.pth")
    hook = {"out_dir": str(elsewhere.parent), "filename_tmpl": "step-{}.pth"}
    cfg = Config({"default_hooks": {"checkpoint": hook}})
    assert last_checkpoint(str(work_dir), cfg) == str(elsewhere / "step-10.pth")
