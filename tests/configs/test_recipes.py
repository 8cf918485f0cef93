"""What all recipes have in common."""

import ast
import re
from pathlib import Path

import pytest
from model_facts import CONFIGS, read

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
    assert cfg.auto_scale_lr.base_batch_size == (32 if name.startswith("sem_fpn") else 16)
    assert processes in (8, 16)
    assert cfg.tta_model and cfg.tta_pipeline[1].type == "TestTimeAug"


@pytest.mark.parametrize("name", CONFIGS)
def test_no_config_leans_on_the_hosts_own(name: str, root: Path) -> None:
    """Their `_base_` names work with one of the distributions alone."""
    files = [root / "configs" / f"{name}.py", *(root / "configs/_base_").rglob("*.py")]
    assert [path for path in files if "::" in path.read_text()] == []
