"""The configs are the authors' recipes, number for number."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import MODELS, PARAM_SCHEDULERS
from torch import nn

from swin_mm.engine.config import import_host

CONFIGS = sorted(path.name for path in (Path(__file__).parents[2] / "configs").glob("*.py"))
COCO = ("mask_rcnn_swin_t.py", "mask_rcnn_swin_t_1x.py")
ADE = "upernet_swin_t.py"
IMAGENET = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_tiny_patch4_window7_224.pth"
)


@pytest.fixture
def read(root: Path) -> Iterator:
    """Read a config by name."""
    return lambda name: Config.fromfile(root / "configs" / name)


def build(cfg: Config) -> nn.Module:
    """Build a config's model without memory."""
    import_host(cfg)
    with torch.device("meta"):
        return MODELS.build(cfg.model)


def test_all_configs_are_looked_at_here() -> None:
    assert sorted([*COCO, ADE]) == CONFIGS


@pytest.mark.parametrize(
    ("name", "published"),
    [(COCO[0], ("46.0", "41.6")), (COCO[1], ("43.7", "39.8")), (ADE, ("44.51", "45.81"))],
)
def test_each_says_its_source_and_the_published_results(
    name: str, published: tuple[str, str], root: Path
) -> None:
    said = ast.get_docstring(ast.parse((root / "configs" / name).read_text()))
    assert said.partition("\n")[0].endswith(".")  # one sentence
    assert "https://github.com/SwinTransformer/" in said
    assert all(number in said for number in published)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_starts_from_the_authors_imagenet_weights(name: str, read: Iterator) -> None:
    backbone = read(name).model.backbone
    assert (backbone.type, backbone.variant) == ("swin_mm.SwinTransformer", "tiny")
    assert backbone.init_cfg == {"type": "Pretrained", "checkpoint": IMAGENET}


@pytest.mark.parametrize(
    ("name", "drop_path", "epochs", "milestones"),
    [(COCO[0], 0.2, 36, [27, 33]), (COCO[1], 0.1, 12, [8, 11])],
)
def test_the_coco_recipes(
    name: str, drop_path: float, epochs: int, milestones: list[int], read: Iterator
) -> None:
    cfg = read(name)
    assert cfg.optim_wrapper.optimizer == {
        "type": "AdamW",
        "lr": 1e-4,
        "betas": (0.9, 0.999),
        "weight_decay": 0.05,
    }
    warmup, steps = cfg.param_scheduler
    assert (warmup.start_factor, warmup.end, warmup.by_epoch) == (0.001, 500, False)
    assert (steps.milestones, steps.gamma, steps.end) == (milestones, 0.1, epochs)
    assert cfg.train_cfg.max_epochs == epochs
    assert cfg.model.backbone.drop_path_rate == drop_path
    assert cfg.auto_scale_lr.base_batch_size == 8 * cfg.train_dataloader.batch_size == 16
    assert cfg.model.data_preprocessor.pad_size_divisor == 32


def test_both_coco_recipes_see_the_same_pictures(read: Iterator) -> None:
    long, short = (read(name) for name in COCO)
    assert long.train_dataloader == short.train_dataloader
    whole, cropped = long.train_dataloader.dataset.pipeline[3].transforms
    edges = [(480 + 32 * step, 1333) for step in range(11)]
    assert whole[0].scales == cropped[2].scales == edges
    assert cropped[0].scales == [(400, 1333), (500, 1333), (600, 1333)]
    assert (cropped[1].crop_type, cropped[1].crop_size) == ("absolute_range", (384, 600))
    assert long.test_dataloader.dataset.pipeline[1].scale == (1333, 800)


def test_the_ade20k_recipe(read: Iterator) -> None:
    cfg = read(ADE)
    assert cfg.optim_wrapper.optimizer == {
        "type": "AdamW",
        "lr": 6e-5,
        "betas": (0.9, 0.999),
        "weight_decay": 0.01,
    }
    assert cfg.train_cfg.max_iters == 160_000
    assert cfg.model.backbone.drop_path_rate == 0.3
    assert cfg.auto_scale_lr.base_batch_size == 8 * cfg.train_dataloader.batch_size == 16
    steps = {step.type: step for step in cfg.train_dataloader.dataset.pipeline}
    assert (steps["RandomResize"].scale, steps["RandomResize"].ratio_range) == (
        (2048, 512),
        (0.5, 2.0),
    )
    assert (steps["RandomCrop"].crop_size, steps["RandomCrop"].cat_max_ratio) == ((512, 512), 0.75)
    assert "PhotoMetricDistortion" in steps
    head, aux = cfg.model.decode_head, cfg.model.auxiliary_head
    assert (head.channels, head.pool_scales, head.norm_cfg.type) == (512, (1, 2, 3, 6), "SyncBN")
    assert (aux.channels, aux.in_index, aux.loss_decode.loss_weight) == (256, 2, 0.4)


def test_ade20k_is_augmented_for_tests_as_published(read: Iterator) -> None:
    versions = read(ADE).tta_pipeline[1].transforms
    heights = [resize.scale[1] for resize in versions[0]]
    assert heights == [256, 384, 512, 640, 768, 896]
    assert [flip.prob for flip in versions[1]] == [0.0, 1.0]


def test_the_rate_of_ade20k_is_the_authors_product(read: Iterator) -> None:
    """In their code the warm-up multiplies a linear fall that begins at once."""
    cfg = read(ADE)
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    wrapper = OptimWrapper(optimizer)
    schedulers = [
        PARAM_SCHEDULERS.build(dict(one), default_args={"optimizer": wrapper})
        for one in cfg.param_scheduler
    ]
    for iteration in range(2000):
        fall = 1 - iteration / 160_000
        warmup = min(1.0, 1e-6 + (1 - 1e-6) * iteration / 1500)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(fall * warmup, rel=2e-3)
        wrapper.step()
        for scheduler in schedulers:
            scheduler.step()


@pytest.mark.parametrize(
    ("name", "millions"),
    [(COCO[0], 47.8), (ADE, 59.9)],
)
def test_the_models_have_the_published_size(name: str, millions: float, read: Iterator) -> None:
    parameters = sum(one.numel() for one in build(read(name)).parameters())
    assert parameters / 1e6 == pytest.approx(millions, rel=0.002)


@pytest.mark.parametrize("name", [COCO[0], ADE])
def test_only_norms_and_bias_tables_are_spared_decay(name: str, read: Iterator) -> None:
    cfg = read(name)
    cfg.model.backbone.use_abs_pos_embed = True
    model = build(cfg)
    optimizer = build_optim_wrapper(model, cfg.optim_wrapper).optimizer
    decay = {
        id(one): group["weight_decay"]
        for group in optimizer.param_groups
        for one in group["params"]
    }
    spared = {key for key, one in model.named_parameters() if decay[id(one)] == 0}
    blocks = [
        f"backbone.stages.{stage}.blocks.{block}"
        for stage, depth in enumerate((2, 2, 6, 2))
        for block in range(depth)
    ]
    norms = [f"{block}.{norm}" for block in blocks for norm in ("norm1", "norm2")]
    norms += [f"backbone.stages.{stage}.downsample.norm" for stage in range(3)]
    norms += [f"backbone.norm{stage}" for stage in range(4)] + ["backbone.patch_embed.norm"]
    assert spared == {
        "backbone.absolute_pos_embed",
        *(f"{block}.attn.w_msa.relative_position_bias_table" for block in blocks),
        *(f"{norm}.{kind}" for norm in norms for kind in ("weight", "bias")),
    }
    assert {decay[id(one)] for key, one in model.named_parameters() if key not in spared} == {
        cfg.optim_wrapper.optimizer.weight_decay
    }
    assert {group["lr"] for group in optimizer.param_groups} == {cfg.optim_wrapper.optimizer.lr}
