"""Where the truth lies, by what a config evaluates with."""

import json
from pathlib import Path

import numpy as np
import pytest
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.reporting.scenes import open_scenes

OBJECT = {"image_id": 1, "category_id": 3, "bbox": [10.0, 10.0, 20.0, 20.0], "score": 0.9}
PIXELS = {"image_id": "a.jpg", "category_id": 0, "segmentation": {}}


def config(tmp_path: Path, evaluator: str, **settings: str) -> Config:
    dataset = {"type": "CocoDataset", "data_root": str(tmp_path), "ann_file": "annotations.json"}
    dataset |= {"data_prefix": {"img": "pictures"}}
    return Config(
        {
            "test_dataloader": {"dataset": dataset},
            "test_evaluator": {"type": evaluator, **settings},
        }
    )


@pytest.mark.parametrize("given", [True, False])
def test_a_detectors_truth_is_the_evaluators_or_the_data_sets(
    given: bool, annotations: dict, tmp_path: Path
) -> None:
    name = "moved.json" if given else "annotations.json"
    (tmp_path / name).write_text(json.dumps(annotations))
    settings = {"ann_file": str(tmp_path / name)} if given else {}
    scenes = open_scenes(config(tmp_path, "mmdet.CocoMetric", **settings), [OBJECT])
    path, truth, found = scenes.open(1)
    assert path == str(tmp_path / "pictures" / "1.jpg")
    assert [scenes.names[one.label] for one in truth] == ["cat", "dog"]
    assert truth[0].mask[10:30, 10:30].all()
    assert truth[0].mask.sum() == 400
    assert [(one.label, one.mask, one.box[0]) for one in found] == [(0, None, 10.0)]
    assert [one.box for one in scenes.open(2)[1]] == [(10.0, 10.0, 20.0, 20.0)]  # no crowd


def test_doubtful_detections_are_not_drawn(annotations: dict, tmp_path: Path) -> None:
    (tmp_path / "annotations.json").write_text(json.dumps(annotations))
    cfg = config(tmp_path, "CocoMetric")
    assert open_scenes(cfg, [{**OBJECT, "score": 0.29}]).open(1)[2] == []


def test_predictions_of_other_pictures_are_refused(annotations: dict, tmp_path: Path) -> None:
    (tmp_path / "annotations.json").write_text(json.dumps(annotations))
    with pytest.raises(UsageError, match="1 of their image_ids, 77 for one, are not in it"):
        open_scenes(config(tmp_path, "CocoMetric"), [OBJECT, {**OBJECT, "image_id": 77}])
    mixed = [{**OBJECT, "image_id": one} for one in (77, "a video/000001")]
    with pytest.raises(UsageError, match="2 of their image_ids, 77 for one"):
        open_scenes(config(tmp_path, "CocoMetric"), mixed)


@pytest.mark.parametrize(
    ("evaluator", "found", "says"),
    [
        ("CocoMetric", PIXELS, "labelled pixels, this run's model finds objects"),
        ("IoUMetric", OBJECT, "objects, this run's model labels pixels"),
        ("VOCMetric", OBJECT, "need CocoMetric or IoUMetric as test_evaluator.*VOCMetric"),
    ],
)
def test_predictions_of_another_task_are_refused(
    evaluator: str, found: dict, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        open_scenes(config(tmp_path, evaluator), [found])


def test_a_segmentors_truth_is_loaded_as_its_pipeline_does(tiny_scenes: Path) -> None:
    from pycocotools import mask

    from swin_mm.engine.config import import_host, read_config
    from swin_mm.engine.datasets import point_data_at
    from swin_mm.engine.notes import Notes

    cfg = read_config("configs/upernet_swin_t.py")
    import_host(cfg)
    point_data_at(cfg, str(tiny_scenes), ("test",), Notes(speaks=False))
    folder = tiny_scenes / "ADEChallengeData2016" / "images" / "validation"
    whole = mask.encode(np.ones((72, 96), np.uint8, order="F"))
    paths = sorted(str(path) for path in folder.glob("*.jpg"))
    found = [{"image_id": one, "category_id": 0, "segmentation": whole} for one in paths]
    scenes = open_scenes(cfg, found)
    assert len(scenes.names) == 150
    path, truth, guess = scenes.open(paths[0])
    assert path == paths[0]
    assert [one.label for one in guess] == [0]
    assert sum(int(one.mask.sum()) for one in truth) <= 72 * 96
    assert all(one.label < 150 for one in truth)
    assert len(scenes.judgement.graded) == len(paths) == 2


def test_of_categories_that_the_model_was_not_taught_nothing_is_said(
    annotations: dict, tmp_path: Path
) -> None:
    (tmp_path / "annotations.json").write_text(json.dumps(annotations))
    cfg = config(tmp_path, "CocoMetric")
    cfg.test_dataloader.dataset.metainfo = {"classes": ("dog",)}
    found = {**OBJECT, "category_id": 5, "bbox": [60.0, 10.0, 20.0, 20.0]}
    scenes = open_scenes(cfg, [found, {**found, "image_id": 2, "bbox": [10.0, 10.0, 20.0, 20.0]}])
    assert scenes.names == ("dog",)
    assert scenes.judgement.tables[0].mean[0] == pytest.approx(100)  # a cat is in the data
    assert scenes.judgement.confusion.counts.tolist() == [[2, 0], [0, 0]]
    assert [one.label for one in scenes.open(1)[1]] == [0]
    cfg.test_dataloader.dataset.metainfo = {"classes": ("unicorn",)}
    with pytest.raises(UsageError, match="none of the data set's classes, unicorn, is among"):
        open_scenes(cfg, [])
