"""Pairs are listed as MMSegmentation lists them, and what lies beside them is noted."""

import dataclasses
import shutil

import pytest

from swin_mm.checking.pairs import survey_pairs
from swin_mm.checking.sources import find_sources
from swin_mm.checking.tasks import Wishes

SEGMENTOR = "upernet_swin_t.py"


@pytest.fixture
def scenes(tiny_scenes, tmp_path):
    shutil.copytree(tiny_scenes, tmp_path / "scenes")
    return tmp_path / "scenes"


def survey(cfg, wishes=None):
    (source,) = find_sources(cfg, ("train",))
    done = survey_pairs(source, wishes or Wishes())
    return done, [(g.rule.name, str(fault)) for g in done.findings.groups() for fault in g.first]


def test_pairs_are_listed(scenes, config):
    done, faults = survey(config(SEGMENTOR, scenes))
    assert faults == [] and done.findings.pictures == len(done.tasks) == 6
    assert all(task.label.endswith(".png") for task in done.tasks)


def test_a_pipeline_without_labels_reads_none(scenes, config):
    cfg = config(SEGMENTOR, scenes)
    del cfg.train_dataloader.dataset.pipeline[1]
    done, _ = survey(cfg)
    assert [task.label for task in done.tasks] == [None] * 6


def test_a_folder_that_is_not_there_is_a_fault(scenes, config):
    cfg = config(SEGMENTOR, scenes, train_dataloader__dataset__data_prefix__img_path="none")
    _, ((rule, met),) = survey(cfg)
    assert rule == "pictures-none" and "none" in met


def test_a_list_of_names_is_read_and_must_be_there(scenes, config):
    (scenes / "names.txt").write_text("ADE_train_00000001\nADE_train_00000002\n")
    cfg = config(SEGMENTOR, scenes, train_dataloader__dataset__ann_file=str(scenes / "names.txt"))
    done, faults = survey(cfg)
    assert len(done.tasks) == 2 and faults == []  # what is not listed is left out on purpose
    cfg.train_dataloader.dataset.ann_file = str(scenes / "none.txt")
    _, ((rule, met),) = survey(cfg)
    assert rule == "annotations-missing" and "none.txt" in met


def test_heads_and_data_have_as_many_classes(scenes, config):
    cfg = config(SEGMENTOR, scenes, model__auxiliary_head__num_classes=149)
    _, ((rule, met),) = survey(cfg)
    assert rule == "class-count"
    assert "model.auxiliary_head.num_classes is 149, the data set has 150 classes" in met


def test_hidden_files_are_no_matter(scenes, config):
    (scenes / "ADEChallengeData2016/images/training/.DS_Store").touch()
    assert survey(config(SEGMENTOR, scenes))[1] == []


def test_a_folder_may_be_written_in_any_way(scenes, config):
    cfg = config(SEGMENTOR, scenes)
    prefix = cfg.train_dataloader.dataset.data_prefix
    prefix.seg_map_path = f"{prefix.seg_map_path}/../{prefix.seg_map_path.rpartition('/')[2]}"
    assert survey(cfg)[1] == []


def test_without_classes_and_heads_every_label_is_one(scenes, config):
    (source,) = find_sources(config(SEGMENTOR, scenes), ("train",))
    source.dataset.METAINFO, source.dataset._metainfo = {}, {}
    meaning = survey_pairs(dataclasses.replace(source, heads={}), Wishes()).meaning
    assert meaning.fit.all()


def test_a_sample_misses_no_file(scenes, config):
    root = scenes / "ADEChallengeData2016"
    sorted((root / "images/training").iterdir())[0].unlink()
    sorted((root / "annotations/training").iterdir())[2].unlink()
    # Listed by name: by folder, a picture that is not there is not known.
    names = "\n".join(f"ADE_train_{number:08d}" for number in range(1, 7))
    (scenes / "names.txt").write_text(names)
    cfg = config(SEGMENTOR, scenes, train_dataloader__dataset__ann_file=str(scenes / "names.txt"))
    done, faults = survey(cfg, Wishes(sample=6))
    assert [rule for rule, _ in faults] == ["file-missing", "label-missing"]
    assert len(done.tasks) == 4
