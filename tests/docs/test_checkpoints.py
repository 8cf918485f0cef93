"""docs/checkpoints.md says what is so."""

import ast
import re
import runpy
from pathlib import Path

import pytest
import torch

import swin_mm
from swin_mm.checkpoints import TARGETS, convert, save_checkpoint
from swin_mm.registry import MODELS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/checkpoints.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "docs/print_layouts.py"))


def between(name):
    mark = f"<!-- {name} -->"
    return PAGE.split(mark)[1].strip().splitlines()


def test_the_layouts_are_those_of_the_code(script):
    assert between("layouts") == script["layouts_table"]().splitlines()


def test_the_peers_are_those_that_were_measured(script):
    measured = script["fixtures_table"]().splitlines()
    said = between("peers")
    assert [line.rsplit("|", 2)[0] for line in said] == [
        line.rsplit("|", 2)[0] for line in measured
    ]
    for line in said[2:] + measured[2:]:  # the last digits differ from processor to processor
        difference = line.rsplit("|", 2)[1].strip().removeprefix("< ").replace("none", "0")
        assert float(difference) <= 1e-5, line


def test_every_target_is_named():
    listed = re.search(r"`--to` takes (.+?);", PAGE, re.S)[1]
    assert set(re.findall(r"`([a-z0-9-]+)`", listed)) == set(TARGETS)


def test_the_windows_of_published_swin_v2s_are_no_larger_than_their_maps():
    rows = re.findall(r"^\| `window.*?\| (\d+) px \| (.+?) \| (.*?) ?\|$", PAGE, re.M)
    assert len(rows) == 5
    for picture, window, pretrained in rows:
        maps = [int(picture) // stride for stride in (4, 8, 16, 32)]
        windows = ast.literal_eval(window)
        windows = windows if isinstance(windows, tuple) else (windows,) * 4
        assert windows == tuple(min(max(windows), side) for side in maps)
        if pretrained:
            assert ast.literal_eval(pretrained) == (12, 12, 12, 6)


def test_the_config_of_a_swin_v2_builds_and_loads(tmp_path):
    code = re.search(r"```python\n(model = dict\(.+?)```", PAGE, re.S)[1]
    config = {}
    exec(code, config)
    cfg = config["model"]["backbone"]
    del cfg["_delete_"]
    source = swin_mm.SwinClassifier(version=2, window_size=8, num_classes=3)
    file = tmp_path / cfg["init_cfg"]["checkpoint"]
    save_checkpoint(convert(source.state_dict(), "torchvision", window=(8, 8)).content, file)
    cfg["init_cfg"]["checkpoint"] = str(file)
    network = MODELS.build(cfg)
    network.init_weights()
    name = "stages.0.blocks.1.attn.w_msa.cpb_mlp.2.weight"
    assert torch.equal(network.get_parameter(name), source.backbone.get_parameter(name))
