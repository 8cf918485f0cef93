"""Where data lies."""

from pathlib import Path

import pytest
from mmengine.config import Config

from swin_mm.engine.datasets import point_data_at, require_data
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

SPLITS = ("train", "val", "test")


def test_every_data_set_and_evaluator_follows(
    detector: Config, tiny_scenes: Path, notes: Notes
) -> None:
    point_data_at(detector, str(tiny_scenes), SPLITS, notes)
    require_data(detector, SPLITS)
    assert "data/coco" not in detector.pretty_text.replace(str(tiny_scenes), "")
    val = str(tiny_scenes / "annotations/instances_val2017.json")
    assert detector.val_evaluator.ann_file == detector.test_evaluator.ann_file == val


@pytest.mark.parametrize("place", ["", "ADEChallengeData2016", "ade/ADEChallengeData2016"])
def test_the_root_may_hold_the_data_set_under_its_usual_name(
    place: str, segmentor: Config, tiny_scenes: Path, tmp_path: Path, notes: Notes
) -> None:
    here = tmp_path / place
    here.parent.mkdir(parents=True, exist_ok=True)
    if place:
        here.symlink_to(tiny_scenes / "ADEChallengeData2016")
    else:
        for name in ("images", "annotations"):
            (here / name).symlink_to(tiny_scenes / "ADEChallengeData2016" / name)
    point_data_at(segmentor, str(tmp_path), SPLITS, notes)
    require_data(segmentor, SPLITS)
    assert segmentor.train_dataloader.dataset.data_root == str(here).rstrip("/")


def test_data_sets_inside_wrappers_follow(
    detector: Config, tiny_scenes: Path, notes: Notes
) -> None:
    inner = detector.train_dataloader.dataset
    twice = {"type": "RepeatDataset", "times": 2, "dataset": inner}
    detector.train_dataloader.dataset = {"type": "ConcatDataset", "datasets": [twice]}
    point_data_at(detector, str(tiny_scenes), SPLITS, notes)
    moved = detector.train_dataloader.dataset.datasets[0].dataset
    assert moved.data_root == str(tiny_scenes)


def test_an_absolute_root_of_the_config_is_left_behind(
    detector: Config, tiny_scenes: Path, notes: Notes
) -> None:
    detector.val_dataloader.dataset.data_root = "/data/coco/"
    detector.val_evaluator.ann_file = "/data/coco/annotations/instances_val2017.json"
    point_data_at(detector, str(tiny_scenes), SPLITS, notes)
    require_data(detector, SPLITS)
    assert detector.val_evaluator.ann_file.startswith(str(tiny_scenes))


def test_a_missing_file_is_named_with_commands_that_work(
    detector: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["tools/train.py", "my.py"])
    with pytest.raises(UsageError) as error:
        require_data(detector, SPLITS)
    told = str(error.value)
    missing = "data/coco/annotations/instances_train2017.json does not exist"
    assert f"{missing} (the data set's ann_file)" in told
    assert "python tools/make_scenes.py data/scenes --images 1000 --seed 0" in told
    assert "python tools/train.py --data-root data/scenes --weights none my.py" in told


def test_an_empty_folder_of_pictures_is_named(
    segmentor: Config, tmp_path: Path, notes: Notes
) -> None:
    for kind in ("images", "annotations"):
        (tmp_path / kind / "training").mkdir(parents=True)
    point_data_at(segmentor, str(tmp_path), SPLITS, notes)
    with pytest.raises(UsageError, match=r"images/training is empty"):
        require_data(segmentor, SPLITS)


def test_a_missing_root_is_an_error(detector: Config, notes: Notes) -> None:
    with pytest.raises(UsageError, match="there is no folder nowhere"):
        point_data_at(detector, "nowhere", SPLITS, notes)


def test_a_neighbour_of_the_old_root_stays_and_a_root_below_it_is_entered_once(
    detector: Config, tiny_scenes: Path, notes: Notes, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data/coco").mkdir(parents=True)
    (tmp_path / "data/coco/mini").symlink_to(tiny_scenes)
    detector.val_evaluator.format_of = "data/coco_panoptic/val.json"
    detector.test_dataloader = detector.val_dataloader
    detector.test_evaluator = detector.val_evaluator
    point_data_at(detector, "data/coco/mini", SPLITS, notes)
    require_data(detector, SPLITS)
    val = "data/coco/mini/annotations/instances_val2017.json"
    assert detector.val_evaluator.ann_file == detector.test_evaluator.ann_file == val
    assert detector.val_evaluator.format_of == "data/coco_panoptic/val.json"
