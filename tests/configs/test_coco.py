"""The recipes on COCO are those of their authors, number for number."""

import importlib.util
from pathlib import Path

import pytest
from mmengine.config import Config
from mmengine.registry import DATASETS
from model_facts import CONFIGS, build, rates_of, read

from swin_mm.engine.config import import_host

COCO = [name for name in CONFIGS if read(name).zoo.data == "COCO"]
THREE = (36, [27, 33])  # epochs, and when the rate falls
ONE = (12, [8, 11])
# Drop path and schedule, by the authors' files.
ADAMW = {
    "mask_rcnn_swin_t_1x": (0.1, *ONE),
    "mask_rcnn_swin_t": (0.2, *THREE),
    "mask_rcnn_swin_s": (0.2, *THREE),
    "cascade_mask_rcnn_swin_t_1x": (0.0, *ONE),
    "cascade_mask_rcnn_swin_t": (0.2, *THREE),
    "cascade_mask_rcnn_swin_s": (0.2, *THREE),
    "cascade_mask_rcnn_swin_b": (0.3, *THREE),
    "atss_swin_t": (0.2, *THREE),
    "sparse_rcnn_swin_t": (0.2, *THREE),
}
CASCADES = [name for name in ADAMW if name.startswith("cascade")]
MASK2FORMER = [name for name in COCO if name.startswith("mask2former")]
DINO = {"dino_swin_l_1x": (12, [11]), "dino_swin_l": THREE}


def test_all_configs_of_coco_are_looked_at_here() -> None:
    assert sorted([*ADAMW, *MASK2FORMER, *DINO, "retinanet_swin_t"]) == COCO


def falls(cfg: Config) -> tuple[int, list[int]]:
    """Return when the schedule ends and when the rate falls to a tenth."""
    steps = cfg.param_scheduler[-1]
    assert (steps.type, steps.gamma) == ("MultiStepLR", 0.1)
    assert steps.end == (cfg.train_cfg.get("max_epochs") or cfg.train_cfg.max_iters)
    return steps.end, steps.milestones


@pytest.mark.parametrize("name", ADAMW)
def test_the_recipes_of_swins_authors(name: str) -> None:
    cfg = read(name)
    drop_path, epochs, milestones = ADAMW[name]
    assert cfg.optim_wrapper.optimizer == {
        "type": "AdamW",
        "lr": 1e-4,
        "betas": (0.9, 0.999),
        "weight_decay": 0.05,
    }
    warmup = cfg.param_scheduler[0]
    assert (warmup.start_factor, warmup.end, warmup.by_epoch) == (0.001, 500, False)
    assert falls(cfg) == (epochs, milestones)
    assert cfg.model.backbone.drop_path_rate == drop_path
    assert cfg.model.data_preprocessor.pad_size_divisor == 32
    clipped = 1 if name.startswith("sparse") else None
    assert cfg.optim_wrapper.get("clip_grad", {}).get("max_norm") == clipped


@pytest.mark.parametrize("name", [*ADAMW, *DINO])
def test_pictures_are_resized_or_cropped_in_between(name: str) -> None:
    cfg = read(name)
    flip, choice = cfg.train_dataloader.dataset.pipeline[2:4]
    whole, cropped = choice.transforms
    edges = [(480 + 32 * step, 1333) for step in range(11)]
    assert whole[0].scales == cropped[2].scales == edges
    assert cropped[0].scales == [(400, 1333), (500, 1333), (600, 1333)]
    assert (cropped[1].crop_type, cropped[1].crop_size) == ("absolute_range", (384, 600))
    assert flip.prob == 0.5


@pytest.mark.parametrize("name", COCO)
def test_tests_see_pictures_within_1333x800_px_and_three_scales_with_flips(name: str) -> None:
    cfg = read(name)
    for loader in (cfg.val_dataloader, cfg.test_dataloader):
        assert loader.dataset.pipeline[1].scale == (1333, 800)
    scales, flips = cfg.tta_pipeline[1].transforms[:2]
    assert [one.scale for one in scales] == [(1000, 600), (1333, 800), (1667, 1000)]
    assert [one.prob for one in flips] == [0.0, 1.0]


@pytest.mark.parametrize("name", COCO)
def test_masks_are_read_and_measured_where_they_are_learned(name: str) -> None:
    cfg = read(name)
    masks = "Mask" in cfg.zoo.method
    pipelines = [cfg.train_dataloader.dataset.pipeline, cfg.val_dataloader.dataset.pipeline]
    pipelines.append([step for steps in cfg.tta_pipeline[1].transforms for step in steps])
    for steps in pipelines:
        (load,) = [step for step in steps if step.type == "LoadAnnotations"]
        assert load.get("with_mask", False) == masks
    assert cfg.val_evaluator.metric == cfg.test_evaluator.metric
    assert cfg.val_evaluator.metric == (["bbox", "segm"] if masks else "bbox")


@pytest.mark.parametrize("name", CASCADES)
def test_the_heads_of_the_cascade(name: str) -> None:
    cfg = read(name)
    heads, training = cfg.model.roi_head.bbox_head, cfg.model.train_cfg
    assert cfg.model.roi_head.stage_loss_weights == [1, 0.5, 0.25]
    assert [head.bbox_coder.target_stds[0] for head in heads] == [0.1, 0.05, 0.033]
    assert [stage.assigner.pos_iou_thr for stage in training.rcnn] == [0.5, 0.6, 0.7]
    for head in heads:
        assert (head.num_shared_convs, head.num_shared_fcs) == (4, 1)
        assert head.norm_cfg.type == "SyncBN"
        assert head.loss_bbox == {"type": "GIoULoss", "loss_weight": 10.0}
        assert head.reg_decoded_bbox
        assert not head.reg_class_agnostic
    assert training.rpn_proposal.max_per_img == 2000
    assert cfg.model.rpn_head.loss_bbox.beta == pytest.approx(1 / 9)


def test_retinanets_recipe() -> None:
    cfg = read("retinanet_swin_t")
    optimizer = {"type": "SGD", "lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4}
    assert cfg.optim_wrapper == {"type": "OptimWrapper", "optimizer": optimizer}
    assert falls(cfg) == ONE
    assert cfg.model.backbone.drop_path_rate == 0.2
    kinds = [step.type for step in cfg.train_dataloader.dataset.pipeline]
    assert kinds[2:4] == ["Resize", "RandomFlip"]
    assert cfg.train_dataloader.dataset.pipeline[2].scale == (1333, 800)


@pytest.mark.parametrize("name", DINO)
def test_dinos_recipe(name: str) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.optimizer == {"type": "AdamW", "lr": 1e-4, "weight_decay": 1e-4}
    assert cfg.optim_wrapper.clip_grad == {"max_norm": 0.1, "norm_type": 2}
    assert len(cfg.param_scheduler) == 1  # no warm-up
    assert falls(cfg) == DINO[name]
    assert cfg.model.backbone.with_cp
    assert (cfg.model.num_queries, cfg.model.num_feature_levels) == (900, 5)
    assert not cfg.train_dataloader.dataset.filter_cfg.filter_empty_gt


@pytest.mark.parametrize("name", MASK2FORMER)
def test_mask2formers_recipe(name: str) -> None:
    cfg = read(name)
    large = name.endswith("_l")
    times = 2 if large else 1
    end, milestones = falls(cfg)
    assert end == times * 368_750
    assert milestones == ([655_556, 710_184] if large else [327_778, 355_092])
    assert cfg.train_cfg.dynamic_intervals == [(end // 5000 * 5000 + 1, end)]
    assert cfg.train_dataloader.batch_size * times == 2
    assert cfg.model.panoptic_head.num_queries == 100 * times
    assert cfg.optim_wrapper.clip_grad == {"max_norm": 0.01, "norm_type": 2}
    assert cfg.model.backbone.drop_path_rate == 0.3
    jitter, crop = cfg.train_dataloader.dataset.pipeline[3:5]
    (padding,) = cfg.model.data_preprocessor.batch_augments
    assert jitter.ratio_range == (0.1, 2.0)
    assert jitter.scale == crop.crop_size == padding.size == (1024, 1024)
    for loop in (cfg.default_hooks.checkpoint, cfg.log_processor):
        assert loop.by_epoch is False
    assert cfg.default_hooks.checkpoint.interval == cfg.train_cfg.val_interval == 5000
    assert cfg.train_dataloader.sampler.type == "InfiniteSampler"


def hosts(name: str) -> Config:
    """Read a config that MMDetection ships."""
    pytest.importorskip("mmdet")
    package = Path(importlib.util.find_spec("mmdet").origin).parent
    return Config.fromfile(package / ".mim/configs" / f"{name}.py")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("mask2former_instance_swin_t", "mask2former/mask2former_swin-t-p4-w7-224_8xb2-lsj-50e"),
        ("mask2former_instance_swin_s", "mask2former/mask2former_swin-s-p4-w7-224_8xb2-lsj-50e"),
        ("dino_swin_l", "dino/dino-5scale_swin-l_8xb2-36e"),
        ("retinanet_swin_t", "swin/retinanet_swin-t-p4-w7_fpn_1x"),
        ("mask_rcnn_swin_t", "swin/mask-rcnn_swin-t-p4-w7_fpn_ms-crop-3x"),
    ],
)
def test_every_parameter_learns_as_in_mmdetections_config(ours: str, theirs: str) -> None:
    cfg, other = read(ours), hosts(f"{theirs}_coco")
    model = build(cfg)
    expected = rates_of(model, Config({**cfg, "optim_wrapper": other.optim_wrapper}))
    found = rates_of(model, cfg)
    wrong = {
        name: (found[name], rate) for name, rate in expected.items() if found[name] != approx(rate)
    }
    assert wrong == {}


def settings(node: object, path: str = "") -> dict[str, object]:
    """Lay a part of a config flat; what says `None` or nothing is left out."""
    if isinstance(node, dict):
        children = [(key, value) for key, value in node.items() if value not in (None, {}, ())]
    elif isinstance(node, list | tuple):
        children = list(enumerate(node))
    else:
        return {path: node}
    return {
        key: one
        for name, value in children
        for key, one in settings(value, f"{path}.{name}").items()
    }


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("mask2former_instance_swin_s", "mask2former/mask2former_swin-s-p4-w7-224_8xb2-lsj-50e"),
        ("dino_swin_l", "dino/dino-5scale_swin-l_8xb2-36e"),
        ("retinanet_swin_t", "swin/retinanet_swin-t-p4-w7_fpn_1x"),
        ("mask_rcnn_swin_s", "swin/mask-rcnn_swin-s-p4-w7_fpn_amp-ms-crop-3x"),
        ("atss_swin_t", "atss/atss_r50_fpn_1x"),
        ("sparse_rcnn_swin_t", "sparse_rcnn/sparse-rcnn_r50_fpn_300-proposals_crop-ms-480-800-3x"),
    ],
)
def test_all_but_the_backbone_is_as_in_mmdetections_config(ours: str, theirs: str) -> None:
    cfg, other = read(ours).model, hosts(f"{theirs}_coco").model
    found, expected = (settings({**one, "backbone": {}}) for one in (cfg, other))
    differing = {key for key, value in found.items() if expected.get(key) != value}
    differing |= expected.keys() - found.keys()
    # What follows from the backbone, and what one of both writes out and the other leaves to the
    # class: the same numbers, or of no effect here.
    follows = (".neck.in_channels", ".neck.start_level")
    written = (".bbox_head.embed_dims", ".bbox_head.norm_cfg", ".train_cfg.sampler.type")
    written += (".data_preprocessor.seg_pad_value",)
    unused = (".neck.add_extra_convs",) if ours == "sparse_rcnn_swin_t" else ()  # no extra maps
    assert {key for key in differing if not key.startswith(follows + written + unused)} == set()


def approx(pair: tuple[float, float]) -> tuple:
    return tuple(pytest.approx(value, rel=1e-6) for value in pair)


@pytest.mark.parametrize("name", ["mask_rcnn_swin_t", "mask2former_instance_swin_t"])
def test_real_photographs_pass_the_pipeline(name: str, real_data: Path) -> None:
    cfg = read(name)
    import_host(cfg)
    part = dict(cfg.train_dataloader.dataset, data_root=f"{real_data / 'coco'}/")
    for sample, _ in zip(DATASETS.build(part), range(3), strict=False):
        boxes = sample["data_samples"].gt_instances
        height, width = sample["inputs"].shape[1:]
        assert boxes.masks.masks.shape == (len(boxes.labels), height, width)
        assert max(height, width) <= (1333 if name.startswith("mask_rcnn") else 1024)
