"""What the second version does in its own way; what both do alike is in test_body.py."""

import math
import warnings

import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from random_weights import randomise, worst_difference

from swin_mm import SwinTransformerV2
from swin_mm.layers import CosineWindowAttention

NARROW = {"embed_dims": 8, "depths": (1, 2, 1, 1), "num_heads": (1, 2, 2, 4)}


def build(**options):
    return randomise(SwinTransformerV2(**{**NARROW, **options}))


def attentions(model):
    return [m for m in model.modules() if isinstance(m, CosineWindowAttention)]


LINEAR = ["weight", "bias"]
BLOCK = {
    **{name: LINEAR for name in ("norm1", "norm2", "ffn.layers.0.0", "ffn.layers.1")},
    "attn.w_msa": ["q_bias", "v_bias", "logit_scale"],
    "attn.w_msa.qkv": ["weight"],
    "attn.w_msa.proj": LINEAR,
    "attn.w_msa.cpb_mlp.0": LINEAR,
    "attn.w_msa.cpb_mlp.2": ["weight"],
}
NETWORK = {
    **{name: LINEAR for name in ("patch_embed.projection", "patch_embed.norm", "norm0", "norm1")},
    "stages.0.downsample.reduction": ["weight"],
    "stages.0.downsample.norm": LINEAR,
    **{f"stages.{i}.blocks.0.{name}": kinds for i in (0, 1) for name, kinds in BLOCK.items()},
}


def test_parameters_are_named_as_the_first_versions_and_no_buffer_is_saved():
    model = build(depths=(1, 1), num_heads=(1, 2), strides=(4, 2), out_indices=(0, 1))
    expected = [f"{module}.{kind}" for module, kinds in NETWORK.items() for kind in kinds]
    assert sorted(model.state_dict()) == sorted(expected)


def test_norms_of_merging_have_the_merged_channels():
    downsample = build().stages[1].downsample
    assert downsample.norm.weight.shape == (32,)
    assert downsample.reduction.weight.shape == (32, 64)


def test_windows_are_of_8_tokens_and_were_of_the_same_before():
    model = SwinTransformerV2(**NARROW)
    assert {m.window_size for m in attentions(model)} == {(8, 8)}
    assert {m.pretrained_window_size for m in attentions(model)} == {(8, 8)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (12, [(12, 12)] * 4),
        ((12, 12, 12, 6), [(12, 12), (12, 12), (12, 12), (6, 6)]),
        ((6, 0), [(6, 4)] * 4),
        ([0, (5, 3), 0, 2], [(4, 4), (5, 3), (4, 4), (2, 2)]),
    ],
    ids=str,
)
def test_pretrained_windows_are_given_as_windows_are_and_0_is_the_same(given, expected):
    model = build(window_size=4, pretrained_window_sizes=given)
    found = [stage.blocks[0].attn.w_msa.pretrained_window_size for stage in model.stages]
    assert found == expected


@pytest.mark.parametrize("given", [-1, (12, 12, 12), "12", [(1, -1)] * 4])
def test_other_pretrained_windows_are_refused_by_name(given):
    with pytest.raises(ValueError, match=r"pretrained_window_sizes.* must be"):
        build(pretrained_window_sizes=given)


def test_pretrained_windows_change_what_offsets_mean():
    x = torch.randn(1, 3, 64, 64)
    plain, other = build().eval(), build(pretrained_window_sizes=4).eval()
    assert worst_difference(other(x)[3], plain(x)[3]) > 1e-3


@pytest.mark.parametrize("again", [False, True])
def test_fresh_blocks_are_identities_and_cosines_count_10_times(again):
    model = SwinTransformerV2(**NARROW)
    if again:
        randomise(model).init_weights()
    block, x = model.stages[1].blocks[1], torch.randn(1, 5, 7, 16)
    assert torch.equal(block(x), x)
    assert (model.stages[0].downsample.norm.weight == 1).all()
    for attention in attentions(model):
        assert attention.logit_scale.unique().item() == pytest.approx(math.log(10))
        assert not attention.q_bias.any() and not attention.v_bias.any()
        assert attention.cpb_mlp[0].weight.std().item() == pytest.approx(0.02, rel=0.2)


def test_fresh_blocks_learn():
    model = SwinTransformerV2(**NARROW, drop_path_rate=0.0)
    sum(out.square().sum() for out in model(torch.randn(1, 3, 64, 64))).backward()
    assert model.stages[0].blocks[0].norm1.weight.grad.any()


def test_arguments_of_the_first_version_alone_are_refused():
    with pytest.raises(ValueError, match=r"leave qk_scale out, got qk_scale=1\.0"):
        SwinTransformerV2(qk_scale=1.0)
    SwinTransformerV2(**NARROW, qk_scale=None)  # as configs of the first version say
    with pytest.raises(TypeError, match="did you mean pretrained_window_sizes or"):
        SwinTransformerV2(pretrained_window_size=1)
    with pytest.raises(TypeError, match=r"_delete_=True, type='swin_mm.SwinTransformerV2'"):
        SwinTransformerV2(style="pytorch")


def test_official_names_are_understood():
    with pytest.warns(FutureWarning, match="'embed_dim'"):
        model = SwinTransformerV2(depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4), embed_dim=8)
    assert model.num_features == [8, 16, 32, 64]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SwinTransformerV2(**NARROW)


def test_weights_of_small_windows_serve_larger_ones():
    small = build(window_size=4)
    large = SwinTransformerV2(**NARROW, window_size=6, pretrained_window_sizes=4)
    large.load_state_dict(small.state_dict())
    bias = [model.stages[0].blocks[0].attn.w_msa.bias() for model in (small, large)]
    # Neighbours in a row: tokens 0 and 1 of either window.
    torch.testing.assert_close(bias[0][:, 0, 1], bias[1][:, 0, 1])


@pytest.mark.parametrize("mode", ["bfloat16", "float16", "autocast"])
@pytest.mark.parametrize("grad", [True, False])
def test_half_precision_is_finite_and_near_float64_where_cosines_count_100_times(mode, grad):
    model = build(drop_path_rate=0.0)
    for attention in attentions(model):
        attention.logit_scale.data.fill_(9.0)
    x = torch.randn(1, 3, 41, 50)
    exact = model.double()(x.double())[3]
    model.float()
    dtype = torch.bfloat16 if mode == "autocast" else getattr(torch, mode)
    if mode != "autocast":
        model, x = model.to(dtype), x.to(dtype)
    cast = torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast")
    with cast, torch.set_grad_enabled(grad):
        out = model(x)[3]
    assert worst_difference(out.double(), exact) < 40 * torch.finfo(dtype).eps
    if grad:
        out.float().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_a_bias_is_never_stale():
    model, x = build().eval(), torch.randn(1, 3, 40, 40)
    with torch.no_grad():
        before = model(x)[3]
        for attention in attentions(model):
            attention.cpb_mlp[2].weight.neg_()
        assert worst_difference(model(x)[3], before) > 1e-3


CHANNELS = [8, 16, 32, 64]
HOSTS = {
    "mmdet": {
        "type": "RetinaNet",
        "neck": {"type": "FPN", "in_channels": CHANNELS, "out_channels": 8, "num_outs": 5},
        "bbox_head": {"type": "RetinaHead", "num_classes": 3, "in_channels": 8, "feat_channels": 8},
    },
    "mmseg": {
        "type": "EncoderDecoder",
        "decode_head": {"type": "UPerHead", "in_channels": CHANNELS, "in_index": [0, 1, 2, 3]}
        | {"channels": 8, "num_classes": 3, "pool_scales": (1, 2)},
    },
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_builds_it_and_its_heads_accept_the_maps(host):
    pytest.importorskip(f"{host}.models")
    backbone = {"type": "swin_mm.SwinTransformerV2", **NARROW}
    with DefaultScope.overwrite_default_scope(host):
        model = MODELS.build({**HOSTS[host], "backbone": backbone, "_scope_": host}).eval()
    assert type(model.backbone) is SwinTransformerV2
    out = model(torch.randn(1, 3, 70, 90), mode="tensor")
    scores = out[0][0] if host == "mmdet" else out  # of the finest level, nine anchors by three
    assert scores.shape == ((1, 27, 18, 23) if host == "mmdet" else (1, 3, 18, 23))
