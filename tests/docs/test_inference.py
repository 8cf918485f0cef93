import json
import re

import pytest


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs/inference.md").read_text(encoding="utf-8")


def test_every_option_is_told_and_every_told_option_is_there(page, root):
    tool = (root / "tools/infer.py").read_text(encoding="utf-8")
    options = set(re.findall(r'add\("(--[a-z-]+)"', tool)) - {"--cfg-options"}
    assert set(re.findall(r"(?<![a-z-])--[a-z][a-z-]+", page)) == options


def test_the_memory_of_a_large_picture_is_as_it_was_measured(page, root):
    told = json.loads((root / "benchmarks/results/large_picture.json").read_text())
    shown = dict(re.findall(r"\| (\w+), [^|]*\| ([\d.]+) GB \|", page))
    measured = {task: f"{one['peak_mb'] / 1024:.1f}" for task, one in told["results"].items()}
    assert shown == measured
    assert all(one["side"] == 20_000 for one in told["results"].values())
    assert all(one["peak_mb"] < told["limit_mb"] for one in told["results"].values())


def test_the_lines_of_python_are_right(page, root, tmp_path, monkeypatch, own_mmengine):
    """With a tiny model in the place of the named one, and a drawn picture."""
    import cv2
    import torch
    from mmengine.config import Config
    from mmengine.registry import MODELS
    from model_facts import read
    from shrinking import shrunk

    from swin_mm.data import render_scene

    options = shrunk(read("mask_rcnn_swin_t"))
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    cfg = Config.fromfile(root / "configs/mask_rcnn_swin_t.py")
    cfg.merge_from_dict({**options, "model.neck.in_channels": [8, 16, 32, 64]})
    cfg.model.backbone.init_cfg = None
    torch.save(
        {"state_dict": MODELS.build({**cfg.model, "_scope_": "mmdet"}).state_dict()},
        tmp_path / "CHECKPOINT",
    )
    monkeypatch.setattr(Config, "fromfile", lambda _: cfg)
    monkeypatch.chdir(tmp_path)
    cv2.imwrite("street.jpg", render_scene(0, 0, size=(64, 48)).image)
    exec(code, {})
