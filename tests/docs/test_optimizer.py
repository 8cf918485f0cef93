"""The page on learning rates says what the constructor does."""

import re

import pytest
from mmengine.optim import build_optim_wrapper
from torch import nn

from swin_mm import SwinTransformer, SwinTransformerV2

TINY = {"embed_dims": 4, "depths": (1, 2, 2, 1), "num_heads": (1, 1, 1, 1), "window_size": 2}
TINY |= {"use_abs_pos_embed": True}


@pytest.fixture(scope="module")
def page(root) -> str:
    return (root / "docs/optimizer.md").read_text(encoding="utf-8")


@pytest.fixture(params=[SwinTransformer, SwinTransformerV2])
def model(request) -> nn.Module:
    model = nn.Module()
    model.backbone, model.query_embed = request.param(**TINY), nn.Embedding(2, 4)
    return model


def settings(page: str, example: int, model: nn.Module) -> dict[str, tuple[float, float]]:
    """Each parameter's rate and decay by what a documented config gives."""
    code = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)[example]
    read: dict = {}
    exec(code, read)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = build_optim_wrapper(model, read["optim_wrapper"]).optimizer.param_groups
    return {
        names[id(parameter)]: (group["lr"], group["weight_decay"])
        for group in groups
        for parameter in group["params"]
    }


def test_the_first_config_decays_rates_and_spares_what_the_table_lists(page, model):
    given = settings(page, 0, model)
    table = page[page.index("## No weight decay") : page.index("So it takes")]
    ends = [one.strip("*.") for one in re.findall(r"`([\w.*]+)`", table) if "=" not in one]

    for name, (_, decay) in given.items():
        listed = name.startswith("backbone.") and any(end in name for end in ends)
        assert (decay == 0.0) == listed, name
    assert given["query_embed.weight"] == (1e-4, 0.05)
    assert given["backbone.patch_embed.projection.weight"][0] == pytest.approx(1e-4 * 0.8**7)
    assert given["backbone.absolute_pos_embed"][0] == pytest.approx(1e-4 * 0.8**7)
    assert given["backbone.stages.1.downsample.reduction.weight"][0] == pytest.approx(1e-4 * 0.8**4)
    assert given["backbone.norm3.weight"][0] == pytest.approx(1e-4 * 0.8)


def test_the_second_config_takes_mmengines_keys_beside_ours(page, model):
    given = settings(page, 1, model)
    assert given["query_embed.weight"] == (1e-4, 0.0)
    assert given["backbone.norm0.weight"] == (pytest.approx(1e-5), 0.0)
    assert given["backbone.stages.0.blocks.0.attn.w_msa.qkv.weight"] == (pytest.approx(1e-5), 0.05)


def test_the_figures_are_right(page):
    assert "at 0.8 its patch embedding learns at 0.055" in page
    assert round(0.8**13, 3) == 0.055
