"""Necks and heads follow the backbone."""

from pathlib import Path

import pytest
from mmengine.config import Config

from swin_mm.engine.channels import match_channels
from swin_mm.engine.config import import_host
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes


def match(cfg: Config, options: dict, notes: Notes) -> None:
    import_host(cfg)
    cfg.merge_from_dict(options)
    match_channels(cfg, options, notes)


def test_a_neck_follows_a_backbone_changed_on_the_command_line(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    match(detector, {"model.backbone.variant": "base"}, notes)
    assert detector.model.neck.in_channels == [128, 256, 512, 1024]
    assert "model.neck.in_channels=[128,256,512,1024]" in capsys.readouterr().out


def test_heads_without_a_neck_follow_by_their_index(segmentor: Config, notes: Notes) -> None:
    options = {"model.backbone.embed_dims": 16, "model.backbone.num_heads": [1, 2, 4, 8]}
    match(segmentor, options, notes)
    assert segmentor.model.decode_head.in_channels == [16, 32, 64, 128]
    assert segmentor.model.auxiliary_head.in_channels == 64


def test_the_heads_of_a_detector_follow_its_neck(detector: Config, notes: Notes) -> None:
    match(detector, {"model.neck.out_channels": 64}, notes)
    roi_head = detector.model.roi_head
    assert detector.model.rpn_head.in_channels == 64
    assert roi_head.bbox_roi_extractor.out_channels == roi_head.bbox_head.in_channels == 64
    assert roi_head.mask_roi_extractor.out_channels == roi_head.mask_head.in_channels == 64
    assert roi_head.mask_head.conv_out_channels == 256  # its own width


def test_all_heads_of_a_cascade_follow_its_neck(root: Path, notes: Notes) -> None:
    cascade = Config.fromfile(root / "configs/cascade_mask_rcnn_swin_t.py")
    match(cascade, {"model.neck.out_channels": 64}, notes)
    assert [head.in_channels for head in cascade.model.roi_head.bbox_head] == [64, 64, 64]


def test_the_proposals_of_sparse_rcnn_follow_its_neck(root: Path, notes: Notes) -> None:
    sparse = Config.fromfile(root / "configs/sparse_rcnn_swin_t.py")
    match(sparse, {"model.neck.out_channels": 64}, notes)
    roi_head = sparse.model.roi_head
    assert sparse.model.rpn_head.proposal_feature_channel == roi_head.proposal_feature_channel == 64
    for head in roi_head.bbox_head:
        convolution = head.dynamic_conv_cfg
        assert head.in_channels == convolution.in_channels == convolution.out_channels == 64


def test_a_segmentors_head_follows_its_neck_map_by_map(root: Path, notes: Notes) -> None:
    pyramid = Config.fromfile(root / "configs/sem_fpn_swin_t.py")
    match(pyramid, {"model.neck.out_channels": 64}, notes)
    assert pyramid.model.decode_head.in_channels == [64, 64, 64, 64]


def test_a_head_that_takes_all_maps_follows_the_backbone(root: Path, notes: Notes) -> None:
    mask2former = Config.fromfile(root / "configs/mask2former_instance_swin_t.py")
    match(mask2former, {"model.backbone.variant": "base"}, notes)
    assert mask2former.model.panoptic_head.in_channels == [128, 256, 512, 1024]


def test_mmdetections_swin_is_understood_too(detector: Config, notes: Notes) -> None:
    detector.model.backbone = {"type": "mmdet.SwinTransformer"}
    match(detector, {"model.backbone.embed_dims": 48}, notes)
    assert detector.model.neck.in_channels == [48, 96, 192, 384]


def test_nothing_is_said_where_all_agrees(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    match(detector, {}, notes)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "options",
    [
        {"model.neck.in_channels": [8, 16, 32, 64]},
        {"model.backbone.variant": "base", "model.neck.in_channels": [8, 16, 32, 64]},
        {"model.neck.out_channels": 64, "model.rpn_head.in_channels": 32},
        {"model.backbone.out_indices": [1, 2, 3]},
    ],
)
def test_a_contradiction_that_was_asked_for_is_an_error(
    options: dict, detector: Config, notes: Notes
) -> None:
    with pytest.raises(UsageError, match="channels must be what it is given"):
        match(detector, options, notes)


def test_a_config_that_contradicts_itself_is_an_error(detector: Config, notes: Notes) -> None:
    detector.model.backbone.variant = "base"
    with pytest.raises(UsageError, match=r"say model.neck.in_channels=\[128,256,512,1024\]"):
        match(detector, {}, notes)


def test_a_backbone_that_cannot_be_built_says_why(detector: Config, notes: Notes) -> None:
    with pytest.raises(UsageError, match="variant must be one of"):
        match(detector, {"model.backbone.variant": "huge"}, notes)
