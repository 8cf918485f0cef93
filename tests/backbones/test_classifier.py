import inspect

import pytest
import torch
from mmengine.registry import MODELS
from random_weights import randomise, worst_difference

from swin_mm import SwinClassifier, SwinTransformer, SwinTransformerV2

NARROW = {"embed_dims": 8, "depths": (1, 2), "num_heads": (1, 2), "strides": (4, 2)}
NARROW |= {"num_classes": 5}


def build(**options):
    return randomise(SwinClassifier(**{**NARROW, **options})).eval()


@pytest.mark.parametrize("version", [1, 2])
def test_scores_are_the_heads_of_the_mean_of_the_last_normed_map(version):
    model = build(version=version)
    networks = {1: SwinTransformer, 2: SwinTransformerV2}
    options = {key: value for key, value in NARROW.items() if key != "num_classes"}
    backbone = networks[version](**options, out_indices=(1,), small_maps="still").eval()
    state = model.state_dict()
    prefix = "backbone."
    own = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
    backbone.load_state_dict(own)
    assert state.keys() - {prefix + k for k in own} == {"head.fc.weight", "head.fc.bias"}
    for size in ((1, 1), (33, 41), (56, 224)):
        x = torch.randn(2, 3, *size)
        mean = backbone(x)[0].flatten(2).mean(2)
        expected = mean @ state["head.fc.weight"].T + state["head.fc.bias"]
        assert model(x).shape == (2, 5)
        assert worst_difference(model(x), expected) < 1e-5


def test_the_published_networks_are_built_by_name():
    with torch.device("meta"):
        first, second = SwinClassifier(variant="base"), SwinClassifier(variant="base", version=2)
    assert type(first.backbone) is SwinTransformer
    assert type(second.backbone) is SwinTransformerV2
    sides = [m.backbone.stages[3].blocks[0].attn.w_msa.window_size for m in (first, second)]
    assert sides == [(7, 7), (8, 8)]
    assert first.head.fc.weight.shape == (1000, 1024)
    assert first(torch.empty(1, 3, 224, 224, device="meta")).shape == (1, 1000)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "option",
    [
        {"window_size": (2, 4)},
        {"mlp_ratio": 2},
        {"qkv_bias": False},
        {"mask_padding": True},
        {"act_cfg": {"type": "ReLU"}},
        {"norm_cfg": {"type": "LN", "eps": 0.1}},
    ],
    ids=lambda option: next(iter(option)),
)
def test_the_backbones_arguments_reach_it(version, option):
    x = torch.randn(1, 3, 50, 60)
    assert worst_difference(build(version=version, **option)(x), build(version=version)(x)) > 1e-4


def test_pretrained_windows_reach_the_second_version():
    model = build(version=2, window_size=4, pretrained_window_sizes=[0, (3, 3)])
    found = [s.blocks[0].attn.w_msa.pretrained_window_size for s in model.backbone.stages]
    assert found == [(4, 4), (3, 3)]


def test_stochastic_depth_and_channels_reach_the_backbone():
    model = build(drop_path_rate=0.4, in_channels=4)
    assert model.backbone.stages[1].blocks[1].drop.rate == 0.4
    assert model(torch.randn(1, 4, 20, 20)).shape == (1, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_clases": 5}, r"SwinClassifier has no argument 'num_clases'; did you mean num_cl"),
        ({"out_indices": (0,)}, "SwinClassifier has no argument 'out_indices'"),
        ({"small_maps": "shift"}, "SwinClassifier has no argument 'small_maps'"),
        ({"pretrained_window_sizes": 6}, "pretrained_window_sizes can be .* version=2 only"),
    ],
    ids=str,
)
def test_arguments_of_another_network_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        SwinClassifier(**arguments)


def test_the_second_version_scales_by_what_it_learns():
    with pytest.raises(ValueError, match="leave qk_scale out"):
        SwinClassifier(version=2, qk_scale=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"version": 3}, "version must be 1 or 2, got 3"),
        ({"num_classes": 0}, r"num_classes .* got 0; .* use swin_mm.SwinTransformer$"),
        ({"num_classes": 2.5, "version": 2}, r"got 2.5; .* use swin_mm.SwinTransformerV2$"),
        ({"depths": (2, 2)}, "got 2 depths"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SwinClassifier(**arguments)


def test_official_names_are_understood_and_all_arguments_shown():
    with pytest.warns(FutureWarning, match="'embed_dim'"):
        model = SwinClassifier(depths=(1, 1), num_heads=(1, 2), strides=(4, 2), embed_dim=8)
    assert model.head.fc.in_features == 16
    shown = inspect.signature(SwinClassifier).parameters
    assert {"variant", "window_size", "pretrained_window_sizes", "num_classes"} <= shown.keys()
    assert shown["window_size"].default == 7
    assert not {"out_indices", "pretrained", "shared"} & shown.keys()


@pytest.mark.parametrize("version", [1, 2])
def test_all_of_it_learns(version):
    model = build(version=version, drop_path_rate=0.0).train()
    assert model.train() is model
    model(torch.randn(2, 3, 40, 60)).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_fresh_weights_are_the_authors_and_scratch_is_said(monkeypatch):
    said = []
    monkeypatch.setattr(
        "swin_mm.backbones.initialisation.print_log", lambda text, **_: said.append(text)
    )
    model = SwinClassifier(**{**NARROW, "num_classes": 1000})
    for again in (False, True):
        if again:
            randomise(model).init_weights()
        assert model.head.fc.weight.std().item() == pytest.approx(0.02, rel=0.05)
        assert not model.head.fc.bias.any()
        assert (model.backbone.norm1.weight == 1).all()
    assert said == ["SwinClassifier has no pretrained weights: it starts from scratch"]


@pytest.mark.parametrize("version", [1, 2])
def test_init_cfg_reads_a_whole_network(version, tmp_path):
    other = build(version=version)
    torch.save(other.state_dict(), tmp_path / "whole.pth")
    cfg = {"type": "Pretrained", "checkpoint": str(tmp_path / "whole.pth")}
    model = SwinClassifier(**NARROW, version=version, init_cfg=cfg)
    model.init_weights()
    x = torch.randn(1, 3, 40, 60)
    assert torch.equal(model.eval()(x), other(x))


def test_a_config_names_it():
    model = MODELS.build({"type": "swin_mm.SwinClassifier", **NARROW})
    assert type(model) is SwinClassifier
