"""Every fault of a folder is named once, clean data have none, and a sample stops a training."""

import json
import shutil
from collections import Counter

import pytest

from swin_mm.checking import DataError, Level, check_data, check_sample

DETECTOR, SEGMENTOR = "mask_rcnn_swin_t.py", "upernet_swin_t.py"


def named(findings):
    return [fault for found in findings for group in found.groups() for fault in group.first]


def require_each_once(faults, expected):
    assert Counter(fault.rule for fault in faults) == Counter(list(expected))
    for fault in faults:
        assert expected[fault.rule] in str(fault)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_fault_of_a_detection_set_is_named_once(faulty_coco, config, workers):
    cfg = config(DETECTOR, faulty_coco.root)
    require_each_once(named(check_data(cfg, workers=workers)), faulty_coco.expected)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_fault_of_a_segmentation_set_is_named_once(faulty_ade, config, workers):
    cfg = config(SEGMENTOR, faulty_ade.root)
    require_each_once(named(check_data(cfg, workers=workers)), faulty_ade.expected)


@pytest.mark.parametrize("name", [DETECTOR, SEGMENTOR])
def test_drawn_scenes_have_no_fault(tiny_scenes, config, name):
    findings = check_data(config(name, tiny_scenes), workers=0)
    assert [found.splits for found in findings] == [("train",), ("val", "test")]
    assert [found.looked_at for found in findings] == [6, 2]
    assert named(findings) == []


@pytest.mark.parametrize("name", [DETECTOR, "dino_swin_l.py", SEGMENTOR])
def test_real_photographs_have_no_error(real_data, config, name):
    findings = check_data(config(name, real_data), workers=0)
    assert {fault.rule for fault in named(findings)} <= {"picture-gray"}
    assert all(found.looked_at == found.pictures > 0 for found in findings)


def test_a_sample_looks_at_some_pictures_and_misses_no_file(tiny_scenes, config, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    for path in sorted((tmp_path / "scenes/train2017").iterdir())[1:3]:
        path.unlink()
    cfg = config(DETECTOR, tmp_path / "scenes")
    for workers in (0, 1):
        (train,) = check_data(cfg, splits=["train"], sample=1, workers=workers)
        assert train.looked_at <= 1
        assert [fault.rule for fault in named([train])] == ["file-missing"] * 2


def test_the_seed_draws_the_sample(tiny_scenes, config, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    for path in (tmp_path / "scenes/train2017").iterdir():
        path.write_bytes(b"")
    cfg = config(DETECTOR, tmp_path / "scenes")
    drawn = {
        seed: named(check_data(cfg, splits=["train"], sample=2, seed=seed, workers=0))
        for seed in (0, 0, 1, 2)
    }
    assert all(len(faults) == 2 for faults in drawn.values())
    assert len({str(faults) for faults in drawn.values()}) > 1


def test_a_set_that_two_splits_read_is_read_once(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes)
    (both,) = check_data(cfg, splits=["test", "val", "val"], sample=0, workers=0)
    assert sorted(both.splits) == ["test", "val"]


def test_a_split_without_data_is_refused(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes)
    cfg.test_dataloader = None
    with pytest.raises(DataError, match="names no data for test: it has train, val"):
        check_data(cfg, splits=["test"], workers=0)


def test_a_data_set_that_cannot_be_built_is_refused(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes, train_dataloader__dataset__typo=1)
    with pytest.raises(DataError, match=r"train data set CocoDataset cannot be built.*typo"):
        check_data(cfg, workers=0)


def test_a_training_is_stopped_with_the_first_faults_named(faulty_coco, config):
    cfg = config(DETECTOR, faulty_coco.root)
    with pytest.raises(DataError) as stop:
        check_sample(cfg, splits=["train"], workers=0)
    told = str(stop.value)
    assert "train: error file-empty, 1" in told and "zero-byte.jpg: image 2: 0 bytes" in told
    assert "cure: fetch it again" in told and "picture-gray" not in told


def test_a_training_begins_with_notes_alone(tiny_scenes, config):
    findings = check_sample(config(DETECTOR, tiny_scenes), workers=0)
    assert all(not found.errors for found in findings)


@pytest.mark.parametrize(("skipped", "stops"), [((), True), (("train",), False), (("val",), True)])
def test_what_training_skips_does_not_stop_it(tiny_scenes, config, tmp_path, skipped, stops):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    next((tmp_path / "scenes/train2017").iterdir()).write_bytes(b"")
    cfg = config(DETECTOR, tmp_path / "scenes")
    if stops:
        with pytest.raises(DataError, match="file-empty, 1"):
            check_sample(cfg, skipped=skipped, workers=0)
    else:
        train, _ = check_sample(cfg, skipped=skipped, workers=0)
        assert [group.rule.name for group in train.groups()] == ["file-empty"]


def test_what_validation_reads_too_stops_it(tiny_scenes, config, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    next((tmp_path / "scenes/train2017").iterdir()).write_bytes(b"")
    cfg = config(DETECTOR, tmp_path / "scenes")
    cfg.val_dataloader.dataset = cfg.train_dataloader.dataset
    with pytest.raises(DataError, match="file-empty, 1"):
        check_sample(cfg, skipped=("train",), workers=0)


def test_a_picture_that_kills_its_reader_is_a_fault_in_the_order_of_the_records(
    tiny_scenes, config, monkeypatch
):
    def each(self, work, pieces):
        return [(piece, None) for piece in reversed(pieces)]

    monkeypatch.setattr("swin_mm.checking.jobs.Crew.each", each)
    faults = named(check_data(config(DETECTOR, tiny_scenes), splits=["train"], workers=0))
    assert {fault.rule for fault in faults} == {"file-kills-reader"}
    files = [fault.file for fault in faults]
    assert len(files) == 6 and files == sorted(files)


def test_skipping_does_not_excuse_what_loads_and_spoils(faulty_ade, config):
    with pytest.raises(DataError) as stop:
        check_sample(
            config(SEGMENTOR, faulty_ade.root), splits=["train"], skipped=["train"], workers=0
        )
    assert "label-beyond" in str(stop.value) and "file-empty" not in str(stop.value)


def test_wrapped_data_sets_are_checked_each(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes)
    leaf = cfg.train_dataloader.dataset
    cfg.train_dataloader.dataset = {
        "type": "RepeatDataset",
        "times": 2,
        "dataset": {
            "type": "ConcatDataset",
            "datasets": [leaf, {**leaf, "ann_file": "annotations/none.json"}],
        },
    }
    sound, missing = check_data(cfg, splits=["train"], workers=0)
    assert named([sound]) == []
    (fault,) = named([missing])
    assert fault.rule == "annotations-missing" and fault.file.endswith("annotations/none.json")


def test_a_few_lost_records_of_many_are_a_note(tiny_scenes, config, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    path = tmp_path / "scenes/annotations/instances_train2017.json"
    content = json.loads(path.read_text())
    sound = content["annotations"][0]
    content["annotations"] = [{**sound, "id": number} for number in range(2000)]
    content["annotations"][7]["bbox"] = [5, 5, 0, 0]
    path.write_text(json.dumps(content))
    (train,) = check_data(
        config(DETECTOR, tmp_path / "scenes"), splits=["train"], sample=0, workers=0
    )
    (group,) = train.groups()
    assert (group.rule.name, group.level, group.count) == ("box-empty", Level.NOTE, 1)
