"""What a pipeline reads, and how, is taken from the config."""

import copy

import pytest

from swin_mm.checking import DataError, check_data
from swin_mm.checking.skipping import skip_broken
from swin_mm.checking.sources import find_sources

DETECTOR, SEGMENTOR = "mask_rcnn_swin_t.py", "upernet_swin_t.py"


def test_a_detectors_source_is_cocos(tiny_scenes, config):
    train, val = find_sources(config(DETECTOR, tiny_scenes), ("train", "val", "test"))
    assert (train.kind, train.splits, train.masks) == ("coco", ("train",), True)
    assert val.splits == ("val", "test") and val.dataset.test_mode
    assert train.name.endswith("annotations/instances_train2017.json")
    assert (train.reader.colour, train.reader.backend, train.reader.channels) == ("color", "cv2", 3)
    assert train.labels is None


def test_a_detector_of_boxes_reads_no_masks(tiny_scenes, config):
    (train,) = find_sources(config("retinanet_swin_t.py", tiny_scenes), ("train",))
    assert not train.masks


def test_a_segmentors_source_is_pairs(tiny_scenes, config):
    cfg = config(SEGMENTOR, tiny_scenes, model__decode_head__ignore_index=7)
    (train,) = find_sources(cfg, ("train",))
    assert (train.kind, train.ignore) == ("labels", 7)
    assert train.name.endswith("images/training")
    assert (train.labels.colour, train.labels.backend) == ("unchanged", "pillow")
    assert dict(train.heads) == {
        "model.decode_head.num_classes": 150,
        "model.auxiliary_head.num_classes": 150,
    }


def test_how_pictures_are_read_is_the_pipelines_matter(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes)
    load = cfg.train_dataloader.dataset.pipeline[0]
    load.color_type, load.imdecode_backend = "unchanged", "pillow"
    load.backend_args = {"backend": "local"}
    cfg.model.data_preprocessor.mean = [0.0] * 4
    (train,) = find_sources(cfg, ("train",))
    assert train.reader.storage == {"backend": "local"}
    assert train.reader.colour == "unchanged" and train.reader.backend == "pillow"
    assert train.reader.channels == 4
    assert not train.reader.turns


@pytest.mark.parametrize("name", [DETECTOR, SEGMENTOR])
def test_steps_that_skip_are_looked_into(tiny_scenes, config, name):
    cfg = config(name, tiny_scenes)
    (before,) = find_sources(copy.deepcopy(cfg), ("train",))
    skip_broken(cfg)
    (after,) = find_sources(cfg, ("train",))
    assert (before.reader, before.labels, before.masks) == (
        after.reader, after.labels, after.masks,
    )  # fmt: skip


def test_a_class_that_reads_its_own_format_is_other(tiny_scenes, config):
    from mmdet.datasets import CocoDataset
    from mmdet.registry import DATASETS

    class OwnDataset(CocoDataset):
        def parse_data_info(self, raw_data_info):
            return super().parse_data_info(raw_data_info)

    DATASETS.register_module(module=OwnDataset, force=True)
    cfg = config(DETECTOR, tiny_scenes, train_dataloader__dataset__type="OwnDataset")
    try:
        (train,) = find_sources(cfg, ("train",))
    finally:
        DATASETS.module_dict.pop("OwnDataset")
    assert train.kind == "other"


def test_what_is_none_of_mmengines_is_left_alone(tiny_scenes, config):
    import torch
    from mmdet.registry import DATASETS

    class Foreign(torch.utils.data.Dataset):
        pass

    DATASETS.register_module(module=Foreign, force=True)
    cfg = config(DETECTOR, tiny_scenes)
    try:
        cfg.train_dataloader.dataset = {"type": "Foreign", "_delete_": True}
        (train,) = find_sources(cfg, ("train",))
        assert (train.kind, train.name) == ("unknown", "Foreign")
        (found,) = check_data(cfg, splits=["train"], workers=0)
    finally:
        DATASETS.module_dict.pop("Foreign")
    assert [group.rule.name for group in found.groups()] == ["class-unknown"] and not found.errors


def test_a_class_that_is_not_registered_is_refused(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes, train_dataloader__dataset__type="CocoDatset")
    with pytest.raises(DataError, match="CocoDatset cannot be built"):
        find_sources(cfg, ("train",))


def test_a_name_alone_is_no_list_of_classes(tiny_scenes, config):
    cfg = config(DETECTOR, tiny_scenes, train_dataloader__dataset__metainfo={"classes": "kite"})
    with pytest.raises(DataError, match=r"One class is \('kite',\), with the comma"):
        find_sources(cfg, ("train",))
