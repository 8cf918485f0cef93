"""Parameter groups, by the names of their parameters."""

import importlib.util
from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.model import BaseModel
from mmengine.optim import OptimWrapper, build_optim_wrapper
from torch import nn

from swin_mm import SwinTransformer
from swin_mm.engine.layer_decay import places_of

TINY = {"embed_dims": 8, "depths": (1, 2, 2, 1), "num_heads": (1, 1, 2, 2)}
CONSTRUCTOR = "swin_mm.LayerDecayOptimWrapperConstructor"
TOP = 1 + sum(TINY["depths"])


class Detector(BaseModel):
    """A backbone, a norm of the neck's, and a head."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = nn.LayerNorm(8)
        self.head = nn.Linear(8, 2)

    def forward(self, inputs):
        return inputs


def tiny(**options) -> SwinTransformer:
    return SwinTransformer(**{**TINY, **options})


def build(model: nn.Module, optimizer: dict | None = None, **paramwise) -> OptimWrapper:
    optimizer = optimizer or {"type": "AdamW", "lr": 1.0, "weight_decay": 0.5}
    cfg = {"type": "OptimWrapper", "optimizer": optimizer, "constructor": CONSTRUCTOR}
    return build_optim_wrapper(model, {**cfg, "paramwise_cfg": paramwise})


def settings_of(model: nn.Module, wrapper: OptimWrapper) -> dict[str, tuple[float, float]]:
    """Learning rate and weight decay by the name of the parameter."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        names[id(parameter)]: (group["lr"], group["weight_decay"])
        for group in wrapper.optimizer.param_groups
        for parameter in group["params"]
    }


def test_layers_are_counted_block_by_block_through_all_stages():
    places = places_of(
        name for name, _ in Detector(tiny(use_abs_pos_embed=True)).named_parameters()
    )
    layers = {name.removeprefix("backbone."): place.layer for name, place in places.items()}
    assert layers["patch_embed.projection.weight"] == layers["patch_embed.norm.bias"] == 0
    assert layers["absolute_pos_embed"] == 0
    firsts = [layers[f"stages.{stage}.blocks.0.norm1.weight"] for stage in range(4)]
    assert firsts == [1, 2, 4, 6]
    assert layers["stages.1.blocks.1.ffn.layers.0.0.weight"] == 3
    assert layers["stages.1.blocks.1.attn.w_msa.relative_position_bias_table"] == 3
    assert layers["stages.1.downsample.reduction.weight"] == 3
    assert [layers[f"norm{stage}.weight"] for stage in range(4)] == [1, 3, 5, 6]
    assert layers["head.weight"] == layers["neck.bias"] == TOP


def test_the_names_of_swin_v2_have_the_same_places():
    block = "backbone.stages.{}.blocks.{}.{}"
    parts = ("attn.w_msa.q_bias", "attn.w_msa.logit_scale", "attn.w_msa.cpb_mlp.0.weight",
             "attn.w_msa.qkv.weight", "norm1.weight", "ffn.layers.1.bias")  # fmt: skip
    names = [block.format(s, b, part) for s in range(2) for b in range(2) for part in parts]
    names += ["backbone.stages.0.downsample.norm.weight", "head.fc.weight"]
    places = places_of(names)
    assert {places[block.format(1, 0, part)].layer for part in parts} == {3}
    assert {places[block.format(1, 0, part)].above for part in parts} == {2}
    spared = {name.partition("blocks.1.")[2] for name in names if places[name].spared}
    assert spared - {""} == {
        "attn.w_msa.logit_scale",
        "attn.w_msa.cpb_mlp.0.weight",
        "norm1.weight",
    }
    assert places["backbone.stages.0.downsample.norm.weight"].layer == 2
    assert not places["head.fc.weight"].spared


def test_the_rate_falls_by_the_same_factor_from_layer_to_layer_and_heads_keep_it():
    model = Detector(tiny())
    settings = settings_of(model, build(model, layer_decay_rate=0.5))
    assert settings["head.weight"] == settings["neck.weight"] == (1.0, 0.5)
    assert settings["backbone.stages.3.blocks.0.attn.w_msa.qkv.weight"] == (0.5, 0.5)
    assert settings["backbone.norm3.weight"] == (0.5, 0.5)
    assert settings["backbone.stages.2.downsample.reduction.weight"] == (0.25, 0.5)
    assert settings["backbone.stages.0.blocks.0.norm2.bias"] == (0.5**6, 0.5)
    assert settings["backbone.patch_embed.projection.weight"] == (0.5**TOP, 0.5)
    assert set(settings) == {name for name, _ in model.named_parameters()}


def test_a_network_that_ends_earlier_is_counted_to_its_own_last_block():
    model = Detector(tiny(out_indices=(0, 1)))
    settings = settings_of(model, build(model, layer_decay_rate=0.5))
    assert settings["backbone.stages.1.blocks.1.norm1.weight"][0] == 0.5
    assert settings["backbone.patch_embed.norm.weight"][0] == 0.5**4


@pytest.mark.parametrize("wrap", ["bare", "parallel", "compiled", "compiled stages"])
def test_a_bare_backbone_and_wrapped_models_have_the_same_rates(wrap):
    def wrapped(model: Detector) -> nn.Module:
        if wrap == "parallel":
            holder = nn.Module()
            holder.module = model
            return holder
        if wrap == "compiled":
            return torch.compile(model)
        if wrap == "compiled stages":
            model.backbone.stages = nn.ModuleList(map(torch.compile, model.backbone.stages))
            return model
        return model.backbone

    model = wrapped(Detector(tiny()))
    settings = settings_of(model, build(model, layer_decay_rate=0.5))
    first, last = (
        {rate for name, (rate, _) in settings.items() if part in name}
        for part in ("patch_embed.projection", "stages.3.")
    )
    assert (first, last) == ({0.5**TOP}, {0.5})


def test_norms_and_position_tables_of_the_swin_alone_are_spared_the_decay():
    model = Detector(tiny(use_abs_pos_embed=True))
    settings = settings_of(model, build(model, swin_no_decay=True))
    spared = {name for name, (_, decay) in settings.items() if decay == 0}
    for name in settings:
        inside = name.removeprefix("backbone.")
        wanted = inside != name and ("norm" in inside or "position" in inside or "pos_e" in inside)
        assert (name in spared) == wanted, name
    assert {rate for rate, _ in settings.values()} == {1.0}


def test_mmengines_options_hold_beside_ours():
    model = Detector(tiny(frozen_stages=0))
    keys = {"backbone": {"lr_mult": 0.1, "decay_mult": 1.0}, "head": {"lr_mult": 3.0}}
    settings = settings_of(
        model,
        build(model, layer_decay_rate=0.5, swin_no_decay=True, custom_keys=keys, bias_decay_mult=2),
    )
    assert settings["backbone.stages.3.blocks.0.ffn.layers.1.weight"] == pytest.approx((0.05, 0.5))
    assert settings["backbone.norm3.weight"] == pytest.approx((0.05, 0.0))
    assert settings["head.weight"] == (3.0, 0.5)
    assert settings["neck.bias"] == (1.0, 1.0)
    assert not any("patch_embed" in name for name in settings)  # frozen


def test_a_parameter_that_stands_twice_is_refused_unless_it_is_bypassed():
    model = Detector(tiny())
    model.again = nn.Sequential(model.head)
    with pytest.raises(ValueError, match="more than one parameter group"):
        build(model, layer_decay_rate=0.5)
    settings = settings_of(model, build(model, layer_decay_rate=0.5, bypass_duplicate=True))
    assert settings["head.weight"] == (1.0, 0.5)


def test_parameters_of_the_same_settings_share_a_group():
    wrapper = build(Detector(tiny()), layer_decay_rate=0.5, swin_no_decay=True)
    groups = wrapper.optimizer.param_groups
    assert len(groups) == 2 * TOP + 1  # layers with and without decay, and the head
    rates = [group["lr"] for group in groups]
    assert rates == sorted(rates)


def test_without_our_options_groups_are_mmengines():
    model = Detector(tiny())
    paramwise = {"custom_keys": {"norm": {"decay_mult": 0.0}}, "bias_lr_mult": 2.0}
    theirs = {"optimizer": {"type": "AdamW", "lr": 1.0, "weight_decay": 0.5}}
    theirs = build_optim_wrapper(model, {**theirs, "paramwise_cfg": paramwise})
    assert settings_of(model, build(model, **paramwise)) == settings_of(model, theirs)
    assert settings_of(model, build(model))["neck.weight"] == (1.0, 0.5)


@pytest.mark.parametrize(
    ("paramwise", "message"),
    [
        ({"layer_decay": 0.8}, "no 'layer_decay'; did you mean layer_decay_rate"),
        ({"num_layers": 12}, "no 'num_layers'; it takes layer_decay_rate, swin_no_decay"),
        ({"layer_decay_rate": 0}, "above 0 and at most 1, got 0"),
        ({"layer_decay_rate": 1.5}, "above 0 and at most 1, got 1.5"),
        ({"layer_decay_rate": "0.8"}, "above 0 and at most 1, got '0.8'"),
    ],
)
def test_an_option_that_cannot_be_is_refused(paramwise, message):
    with pytest.raises(ValueError, match=message):
        build(Detector(tiny()), **paramwise)


@pytest.mark.parametrize("paramwise", [{"layer_decay_rate": 0.8}, {"swin_no_decay": True}])
def test_a_model_without_a_swin_is_refused(paramwise):
    with pytest.raises(
        ValueError, match=r"need a Swin in the model.*none in Detector.*head\.weight"
    ):
        build(Detector(nn.Identity()), **paramwise)


def test_an_optimizer_without_decay_has_none_to_spare():
    with pytest.raises(ValueError, match="needs a decay"):
        build(Detector(tiny()), {"type": "SGD", "lr": 1.0}, swin_no_decay=True)


def test_a_misspelt_constructor_gets_the_near_ones():
    cfg = {"optimizer": {"type": "SGD", "lr": 1.0}, "constructor": CONSTRUCTOR.replace("D", "d")}
    with pytest.raises(KeyError, match=r"did you mean swin_mm\.LayerDecayOptimWrapperConstructor"):
        build_optim_wrapper(Detector(tiny()), cfg)


def test_mask2formers_keys_give_our_backbone_the_groups_of_mmdetections():
    pytest.importorskip("mmdet")
    from mmdet.models.backbones import SwinTransformer as Theirs

    folder = Path(importlib.util.find_spec("mmdet").origin).parent / ".mim/configs/mask2former"
    cfg = Config.fromfile(folder / "mask2former_swin-t-p4-w7-224_8xb2-lsj-50e_coco.py")
    options = {"depths": cfg.depths, "embed_dims": 8, "num_heads": (1, 1, 2, 2)}
    ours, theirs = (
        settings_of(model, build_optim_wrapper(model, cfg.optim_wrapper))
        for model in (Detector(SwinTransformer(**options)), Detector(Theirs(**options)))
    )
    assert ours == theirs
    rates = {setting for name, setting in ours.items() if name.startswith("backbone")}
    assert {(round(rate, 9), decay) for rate, decay in rates} == {(1e-5, 0.0), (1e-5, 0.05)}
