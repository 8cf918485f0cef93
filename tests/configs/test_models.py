"""The full-size model of every shipped config: its size, its cost, what learns how fast.

`python tests/support/model_facts.py` counts anew what these tests hold the configs to.
"""

import json

import pytest
from families import MAINTAINED
from model_facts import CONFIGS, KEPT, build, facts_of, products_of, rates_of, read

FACTS = json.loads(KEPT.read_text())
WIDER = 256 * 512  # what the maintained DINO's layer over boxes has and the original's has not


def test_every_config_is_counted() -> None:
    assert sorted(FACTS) == CONFIGS


@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_products_and_groups_are_those_that_were_counted(name: str) -> None:
    counted = facts_of(read(name))
    if name.startswith("dino") and not MAINTAINED:
        counted["parameters"] += WIDER
        counted["groups"][-1]["parameters"] += WIDER
    assert counted == FACTS[name]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_zoo_tells_what_was_counted(name: str) -> None:
    zoo, counted = read(name).zoo, FACTS[name]
    assert zoo.params == round(counted["parameters"] / 1e6, 1)
    if zoo.flops is None:
        assert counted["multiply_adds"] is None
    else:
        assert counted["multiply_adds"] / 1e9 == pytest.approx(zoo.flops, rel=0.01)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_optimizer_has_every_parameter_once(name: str) -> None:
    counted = FACTS[name]
    assert sum(group["parameters"] for group in counted["groups"]) == counted["parameters"]


@pytest.mark.parametrize("name", ["mask_rcnn_swin_t", "upernet_swin_t"])
def test_padding_and_attention_are_counted(name: str) -> None:
    products = products_of(build(read(name)), read(name))
    assert products["aten.bmm"] > 0
    assert products["aten.convolution"] > 0


@pytest.mark.parametrize("name", ["mask_rcnn_swin_t", "upernet_swin_t"])
def test_a_position_embedding_is_spared_too(name: str) -> None:
    cfg = read(name)
    cfg.model.backbone.use_abs_pos_embed = True
    rate, decay = rates_of(build(cfg), cfg)["backbone.absolute_pos_embed"]
    assert (rate, decay) == (cfg.optim_wrapper.optimizer.lr, 0.0)
