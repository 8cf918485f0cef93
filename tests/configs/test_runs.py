"""Every shipped config trains and is evaluated, changed by `--data-root` and `--weights none`."""

from pathlib import Path

import pytest
from model_facts import CONFIGS, read
from shrinking import shrunk

from swin_mm.engine import train


@pytest.mark.usefixtures("own_mmengine")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_and_an_evaluation(
    name: str, root: Path, tiny_scenes: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    cfg = read(name)
    train(
        str(root / "configs" / f"{name}.py"),
        work_dir=str(tmp_path),
        data_root=str(tiny_scenes),
        weights="none",
        max_iters=1,
        image_scale=0.12,
        seed=0,
        options=shrunk(cfg),
    )
    told = capsys.readouterr().out
    found = ("mIoU  ",) if cfg.default_scope == "mmseg" else ("box AP  ", "metrics  ")
    assert any(name in told for name in found)
    assert (tmp_path / "iter_1.pth").is_file()
    assert (tmp_path / "loss.png").is_file()
    assert len(list((tmp_path / "predictions").glob("*.png"))) == 2


@pytest.mark.parametrize("name", CONFIGS)
def test_the_small_model_has_all_parts_of_the_whole_one(name: str) -> None:
    """So that a step of it says something about the recipe."""
    cfg = read(name)
    parts = {key: node.get("type") for key, node in cfg.model.items() if isinstance(node, dict)}
    cfg.merge_from_dict(shrunk(cfg))
    kept = {key: node.get("type") for key, node in cfg.model.items() if isinstance(node, dict)}
    assert kept == parts
