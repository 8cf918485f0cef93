"""What all recipes have in common, and UPerNet's on ADE20K, number for number."""

import ast
import re
from pathlib import Path

import pytest
import torch
from mmengine.optim import OptimWrapper
from mmengine.registry import PARAM_SCHEDULERS
from model_facts import CONFIGS, read
from torch import nn

ADE = "upernet_swin_t"
VARIANTS = {"tiny": "T", "small": "S", "base": "B", "large": "L"}
METRICS = {"COCO": {"box_ap", "mask_ap"}, "ADE20K": {"miou", "miou_tta"}}
KEYS = {"method", "backbone", "version", "data", "schedule", "published", "source"}
KEYS |= {"params", "flops", "input", "start"}


def docstring(name: str, root: Path) -> str:
    """Return what a config says of itself, on one line."""
    source = (root / "configs" / f"{name}.py").read_text()
    return ast.get_docstring(ast.parse(source)).replace("\n", " ")


@pytest.mark.parametrize("name", CONFIGS)
def test_each_says_its_recipe_and_the_published_results(name: str, root: Path) -> None:
    zoo, said = read(name).zoo, docstring(name, root)
    first = (root / "configs" / f"{name}.py").read_text().partition("\n")[0]
    assert re.fullmatch(r'"""[^.]+\.', first)  # one sentence
    assert "http" in said
    assert zoo.source is None or zoo.source in said
    words = set(re.findall(r"\d+(?:\.\d+)?", said))
    assert {f"{value:g}" for value in zoo.published.values()} <= {f"{float(w):g}" for w in words}
    assert bool(zoo.published) != ("no published result" in said)
    assert "retrained by this project" in said or not zoo.published


@pytest.mark.parametrize("name", CONFIGS)
def test_the_zoo_has_one_form_and_agrees_with_the_model(name: str) -> None:
    cfg = read(name)
    zoo, backbone = cfg.zoo, cfg.model.backbone
    assert set(zoo) == KEYS
    assert zoo.backbone == f"Swin{'V2' * (zoo.version == 2)}-{VARIANTS[backbone.variant]}"
    assert (backbone.type == "swin_mm.SwinTransformerV2") == (zoo.version == 2)
    assert set(zoo.published) <= METRICS[zoo.data]
    assert re.fullmatch(r"\d+x\d+", zoo.input)
    assert cfg.default_scope == {"COCO": "mmdet", "ADE20K": "mmseg"}[zoo.data]


@pytest.mark.parametrize("name", CONFIGS)
def test_each_starts_from_the_authors_imagenet_weights(name: str) -> None:
    cfg = read(name)
    backbone = cfg.model.backbone
    weights = backbone.init_cfg.checkpoint
    assert backbone.init_cfg == {"type": "Pretrained", "checkpoint": weights}
    assert weights.startswith("https://github.com/SwinTransformer/storage/releases/download/")
    assert f"_{backbone.variant}_patch4_window" in weights
    assert ("22k" in weights) == (cfg.zoo.start == "ImageNet-22K")
    if cfg.zoo.version == 1:
        assert f"_window{backbone.get('window_size', 7)}_" in weights
        size = re.search(r"window\d+_(\d+)", weights)[1]
        assert int(size) == backbone.get("pretrain_img_size", 224)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_has_a_batch_for_its_rate_and_versions_for_a_test(name: str) -> None:
    cfg = read(name)
    processes = cfg.auto_scale_lr.base_batch_size / cfg.train_dataloader.batch_size
    assert cfg.auto_scale_lr.base_batch_size == 16
    assert processes in (8, 16)
    assert cfg.tta_model and cfg.tta_pipeline[1].type == "TestTimeAug"


@pytest.mark.parametrize("name", CONFIGS)
def test_no_config_leans_on_the_hosts_own(name: str, root: Path) -> None:
    """Their `_base_` names work with one of the distributions alone."""
    files = [root / "configs" / f"{name}.py", *(root / "configs/_base_").rglob("*.py")]
    assert [path for path in files if "::" in path.read_text()] == []


def test_the_ade20k_recipe() -> None:
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


def test_ade20k_is_augmented_for_tests_as_published() -> None:
    versions = read(ADE).tta_pipeline[1].transforms
    heights = [resize.scale[1] for resize in versions[0]]
    assert heights == [256, 384, 512, 640, 768, 896]
    assert [flip.prob for flip in versions[1]] == [0.0, 1.0]


def test_the_rate_of_ade20k_is_the_authors_product() -> None:
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
