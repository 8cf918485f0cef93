"""What a user does: inherit the host's own config, change one type, train, resume, test."""

import importlib.util
from pathlib import Path

import pytest
import torch
from families import MAINTAINED
from random_weights import randomise

from swin_mm import SwinTransformer
from swin_mm.checkpoints import to_layout

TINY = {"embed_dims": 8, "depths": (1, 1, 2, 1), "num_heads": (1, 1, 2, 2)}
DETECTOR = "configs/swin/mask-rcnn_swin-t-p4-w7_fpn_1x_coco.py"
# The original MMEngine reads no checkpoint of its own with torch 2.6 or later; our hook does.
READER = "" if MAINTAINED else "custom_hooks = [dict(type='swin_mm.AnyCheckpointHook')]"
SEGMENTOR = "configs/swin/swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512.py"


def configs_of(package: str, name: str) -> Path:
    pytest.importorskip(package)
    return Path(importlib.util.find_spec(package).origin).parent / ".mim" / name


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    """A file in the layout of the official ImageNet weights, for a tiny network."""
    state = randomise(SwinTransformer(**TINY, out_indices=(3,))).state_dict()
    torch.save({"model": to_layout(state, "microsoft")}, tmp_path / "imagenet.pth")
    return tmp_path / "imagenet.pth"


def as_options(options: dict, imagenet: Path) -> list[str]:
    options = {**options, "model.backbone.init_cfg.checkpoint": imagenet}
    return ["--cfg-options", *(f"{key}={str(v).replace(' ', '')}" for key, v in options.items())]


def test_mmdetections_config_with_one_type_changed_trains_resumes_and_tests(
    host, tiny_scenes, shrink, imagenet, tmp_path
):
    base = configs_of("mmdet", DETECTOR)
    # The type and where it comes from are all that a user changes; the rest is the small world.
    (tmp_path / "my_detector.py").write_text(
        f"""
_base_ = {str(base)!r}
custom_imports = dict(imports=['swin_mm'])
model = dict(backbone=dict(type='swin_mm.SwinTransformer'))
{READER}

data = dict(data_root={str(tiny_scenes) + "/"!r})
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='Resize', scale=(96, 72), keep_ratio=True),
    dict(type='PackDetInputs'),
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline, **data))
val_dataloader = dict(dataset=data)
test_dataloader = val_dataloader
val_evaluator = dict(ann_file={str(tiny_scenes / "annotations/instances_val2017.json")!r})
test_evaluator = val_evaluator
"""
    )
    # What follows a width must be told too: MMDetection's tools do not see to it.
    small = {**shrink["detection"], "model.neck.in_channels": [8, 16, 32, 64]}
    for taker in ("rpn_head", "roi_head.bbox_head", "roi_head.mask_head"):
        small[f"model.{taker}.in_channels"] = 8
    for extractor in ("bbox_roi_extractor", "mask_roi_extractor"):
        small[f"model.roi_head.{extractor}.out_channels"] = 8
    options = as_options(small, imagenet)
    options += [f"{part}_dataloader.persistent_workers=False" for part in ("train", "val", "test")]
    train = ["train.py", "my_detector.py", "--work-dir", "run", *options]
    printed = host(
        "mmdet",
        [*train, "train_cfg.max_epochs=1"],
        [*train[:4], "--resume", *options, "train_cfg.max_epochs=2"],
        ["test.py", "my_detector.py", "run/epoch_2.pth", *options],
    )
    assert "layout microsoft" in printed
    assert "resumed epoch: 1" in printed
    for done in ("Epoch(val) [1][2/2]", "Epoch(val) [2][2/2]", "Epoch(test) [2/2]"):
        assert done in printed  # figures there are none: so little training finds nothing


def test_mmsegmentations_config_with_one_type_changed_trains_resumes_and_tests(
    host, tiny_scenes, shrink, imagenet, tmp_path
):
    base = configs_of("mmseg", SEGMENTOR)
    (tmp_path / "my_segmentor.py").write_text(
        f"""
_base_ = {str(base)!r}
custom_imports = dict(imports=['swin_mm'])
model = dict(backbone=dict(type='swin_mm.SwinTransformer'))
{READER}

model['data_preprocessor'] = dict(size=(64, 64))
data = dict(data_root={str(tiny_scenes / "ADEChallengeData2016")!r})
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='RandomCrop', crop_size=(64, 64)),
    dict(type='PackSegInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='PackSegInputs'),
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline, **data))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline, **data))
test_dataloader = val_dataloader
"""
    )
    small = {**shrink["segmentation"]}
    small["model.decode_head.in_channels"] = [8, 16, 32, 64]
    small["model.auxiliary_head.in_channels"] = 32
    small["model.auxiliary_head.channels"] = 8
    for head in ("decode_head", "auxiliary_head"):
        small[f"model.{head}.norm_cfg.type"] = "BN"  # SyncBN wants GPUs
    options = as_options(small, imagenet)
    options += [f"{part}_dataloader.persistent_workers=False" for part in ("train", "val", "test")]
    options += ["default_hooks.checkpoint.interval=2", "train_cfg.val_interval=2"]
    train = ["train.py", "my_segmentor.py", "--work-dir", "run"]
    printed = host(
        "mmseg",
        [*train, *options, "train_cfg.max_iters=2"],
        [*train, "--resume", *options, "train_cfg.max_iters=4"],
        ["test.py", "my_segmentor.py", "run/iter_4.pth", *options],
    )
    assert "layout microsoft" in printed
    assert "resumed epoch: 0, iter: 2" in printed
    assert printed.count("mIoU") >= 3
