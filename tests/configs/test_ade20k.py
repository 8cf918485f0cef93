"""The recipes on ADE20K are those of their authors, number for number."""

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper
from mmengine.registry import PARAM_SCHEDULERS
from model_facts import CONFIGS, build, rates_of, read
from torch import nn

ADE = [name for name in CONFIGS if read(name).zoo.data == "ADE20K"]
UPERNET = [name for name in ADE if name.startswith("upernet")]
VERSION_2 = [name for name in UPERNET if "swinv2" in name]
MASK2FORMER = [name for name in ADE if name.startswith("mask2former")]
LARGE = [name for name in ADE if name.endswith("_640")]
FPN = "sem_fpn_swin_t"


def steps_of(cfg: Config) -> dict[str, dict]:
    """Return the steps of the training pipeline by type."""
    return {step.type: step for step in cfg.train_dataloader.dataset.pipeline}


def rates_over(cfg: Config, iterations: int) -> list[float]:
    """Return the factors of the learning rate that a config's schedulers give."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    wrapper = OptimWrapper(optimizer)
    schedulers = [
        PARAM_SCHEDULERS.build(dict(one), default_args={"optimizer": wrapper})
        for one in cfg.param_scheduler
    ]
    rates = []
    for _ in range(iterations):
        rates.append(optimizer.param_groups[0]["lr"])
        wrapper.step()
        for scheduler in schedulers:
            scheduler.step()
    return rates


def test_all_configs_of_ade20k_are_looked_at_here() -> None:
    assert sorted([*UPERNET, *MASK2FORMER, FPN]) == ADE
    assert len(UPERNET) == 9
    assert len(MASK2FORMER) == 3
    assert len(LARGE) == 4


@pytest.mark.parametrize("name", UPERNET)
def test_upernets_recipe(name: str) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.optimizer == {
        "type": "AdamW",
        "lr": 6e-5,
        "betas": (0.9, 0.999),
        "weight_decay": 0.01,
    }
    assert cfg.train_cfg.max_iters == 160_000
    assert cfg.model.backbone.drop_path_rate == 0.3
    assert cfg.auto_scale_lr.base_batch_size == 8 * cfg.train_dataloader.batch_size == 16
    head, aux = cfg.model.decode_head, cfg.model.auxiliary_head
    assert (head.channels, head.pool_scales, head.norm_cfg.type) == (512, (1, 2, 3, 6), "SyncBN")
    assert (aux.channels, aux.in_index, aux.loss_decode.loss_weight) == (256, 2, 0.4)


@pytest.mark.parametrize("name", [*UPERNET, FPN])
def test_pictures_are_scaled_and_cropped_as_the_authors_do(name: str) -> None:
    cfg, side = read(name), 640 if name in LARGE else 512
    steps = steps_of(cfg)
    resize, crop = steps["RandomResize"], steps["RandomCrop"]
    assert (resize.scale, resize.ratio_range) == ((4 * side, side), (0.5, 2.0))
    assert (crop.crop_size, crop.cat_max_ratio) == ((side, side), 0.75)
    assert steps["RandomFlip"].prob == 0.5


@pytest.mark.parametrize("name", MASK2FORMER)
def test_mask2former_resizes_the_shorter_edge_to_one_of_sixteen(name: str) -> None:
    cfg, side = read(name), 640 if name in LARGE else 512
    steps = steps_of(cfg)
    resize, crop = steps["RandomChoiceResize"], steps["RandomCrop"]
    assert resize.resize_type == "ResizeShortestEdge"
    assert (resize.scales[0], resize.scales[-1]) == (side // 2, 2 * side)
    assert len(resize.scales) == 16
    assert resize.max_size == 4 * side
    assert crop.crop_size == (side, side)
    assert "cat_max_ratio" not in crop


@pytest.mark.parametrize("name", ADE)
def test_crops_fill_the_batch_and_colours_are_disturbed(name: str) -> None:
    cfg, side = read(name), 640 if name in LARGE else 512
    assert cfg.model.data_preprocessor.size == (side, side)
    types = [step.type for step in cfg.train_dataloader.dataset.pipeline]
    assert types[0] == "LoadImageFromFile"
    assert types[-2:] == ["PhotoMetricDistortion", "PackSegInputs"]
    assert cfg.train_dataloader.dataset.reduce_zero_label


@pytest.mark.parametrize("name", ADE)
def test_tests_see_whole_pictures_and_six_scales_with_flips(name: str) -> None:
    cfg, side = read(name), 640 if name in LARGE else 512
    for loader in (cfg.val_dataloader, cfg.test_dataloader):
        assert loader.dataset.pipeline[1].scale == (4 * side, side)
        assert [step.type for step in loader.dataset.pipeline[2:]] == [
            "LoadAnnotations",
            "PackSegInputs",
        ]
    scales, flips = cfg.tta_pipeline[1].transforms[:2]
    ratios = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
    assert [one.scale for one in scales] == [(4 * side * r, side * r) for r in ratios]
    assert [one.prob for one in flips] == [0.0, 1.0]


def test_the_rate_of_upernet_is_the_authors_product() -> None:
    """In their code the warm-up multiplies a linear fall that begins at once."""
    for iteration, rate in enumerate(rates_over(read("upernet_swin_t"), 2000)):
        fall = 1 - iteration / 160_000
        warmup = min(1.0, 1e-6 + (1 - 1e-6) * iteration / 1500)
        assert rate == pytest.approx(fall * warmup, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "iterations"), [*((name, 160_000) for name in MASK2FORMER), (FPN, 80_000)]
)
def test_the_rate_of_the_others_falls_with_a_power_from_the_start(
    name: str, iterations: int
) -> None:
    cfg = read(name)
    assert cfg.train_cfg.max_iters == iterations
    for iteration, rate in enumerate(rates_over(cfg, 300)):
        assert rate == pytest.approx((1 - iteration / iterations) ** 0.9, rel=1e-4)


@pytest.mark.parametrize("name", MASK2FORMER)
def test_mask2formers_backbone_learns_at_a_tenth_and_its_norms_do_not_decay(name: str) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.clip_grad == {"max_norm": 0.01, "norm_type": 2}
    assert cfg.auto_scale_lr.base_batch_size == 8 * cfg.train_dataloader.batch_size == 16
    rates = rates_of(build(cfg), cfg)
    attention = "backbone.stages.2.blocks.3.attn.w_msa"
    assert rates[f"{attention}.qkv.weight"] == (1e-5, 0.05)
    assert rates[f"{attention}.relative_position_bias_table"] == (1e-5, 0.0)
    assert rates["backbone.stages.1.downsample.norm.weight"] == (1e-5, 0.0)
    assert rates["backbone.norm3.bias"] == (1e-5, 0.0)
    assert rates["decode_head.query_embed.weight"] == (1e-4, 0.0)
    assert rates["decode_head.level_embed.weight"] == (1e-4, 0.0)
    assert rates["decode_head.mask_embed.0.weight"] == (1e-4, 0.05)


@pytest.mark.parametrize("name", VERSION_2)
def test_version_2_spares_what_its_authors_spare(name: str) -> None:
    cfg = read(name)
    rates = rates_of(build(cfg), cfg)
    spared = {key.rpartition(".attn.")[2] for key, rate in rates.items() if rate[1] == 0}
    within = {key for key in spared if key.startswith("w_msa")}
    assert within == {
        "w_msa.logit_scale",
        "w_msa.cpb_mlp.0.weight",
        "w_msa.cpb_mlp.0.bias",
        "w_msa.cpb_mlp.2.weight",
    }
    assert cfg.model.backbone.window_size == 8


def test_semantic_fpns_recipe() -> None:
    cfg = read(FPN)
    optimizer = {"type": "AdamW", "lr": 1e-4, "betas": (0.9, 0.999), "weight_decay": 1e-4}
    assert cfg.optim_wrapper.optimizer == optimizer
    assert cfg.auto_scale_lr.base_batch_size == 8 * cfg.train_dataloader.batch_size == 32
    head = cfg.model.decode_head
    assert (head.channels, head.feature_strides, head.norm_cfg.type) == (
        128,
        [4, 8, 16, 32],
        "SyncBN",
    )
