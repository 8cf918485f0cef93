"""What both versions do alike."""

import copy
import pickle

import pytest
import torch
from random_weights import randomise, worst_difference
from torch import nn

from swin_mm import SwinTransformer, SwinTransformerV2

NARROW = {"embed_dims": 8, "depths": (2, 2, 2, 2), "num_heads": (1, 2, 2, 4)}


@pytest.fixture(params=[SwinTransformer, SwinTransformerV2], ids=["v1", "v2"])
def network(request):
    return request.param


@pytest.fixture
def build(network):
    """Makes a narrow network with random weights."""
    return lambda **options: randomise(network(**{**NARROW, **options}))


@pytest.mark.parametrize("size", [(1, 1), (1, 300), (7, 9), (31, 33), (63, 64), (65, 127)])
@pytest.mark.parametrize("batch", [1, 3])
def test_any_size_comes_out_at_ceiling_halves(build, size, batch):
    maps = build().eval()(torch.randn(batch, 3, *size))
    height, width = size
    height, width = -(-height // 4), -(-width // 4)
    for channels, out in zip((8, 16, 32, 64), maps, strict=True):
        assert out.shape == (batch, channels, height, width)
        height, width = -(-height // 2), -(-width // 2)


def test_consumers_are_told_channels_and_strides(build, network):
    model = network(variant="base", out_indices=(3, 1))
    assert model.out_channels == [256, 1024]
    assert model.out_strides == [8, 32]
    assert build(patch_size=2, strides=(2, 2, 2, 1)).out_strides == [2, 4, 8, 8]
    oblong = build(patch_size=(4, 2), strides=((4, 2), 2, 2, 2))
    assert oblong.out_strides == [(4, 2), (8, 4), (16, 8), (32, 16)]


def test_train_and_eval_return_the_module(build):
    model = build()
    assert model.eval() is model
    assert model.train() is model
    assert model.training


def test_maps_are_contiguous_unless_channels_last_is_asked_for(build):
    x = torch.randn(1, 3, 64, 64)
    assert all(out.is_contiguous() for out in build()(x))
    last = build(channels_last=True)(x)
    assert all(out.is_contiguous(memory_format=torch.channels_last) for out in last)


def test_channels_last_changes_strides_and_no_number(build):
    x = torch.randn(1, 3, 40, 60)
    plain, last = build().eval()(x), build(channels_last=True).eval()(x)
    assert all(torch.equal(a, b) for a, b in zip(plain, last, strict=True))
    strided = build().eval()(x.contiguous(memory_format=torch.channels_last))
    assert max(worst_difference(a, b) for a, b in zip(plain, strided, strict=True)) < 1e-5


def test_stages_behind_the_last_output_are_not_built_and_every_parameter_learns(build):
    model = build(out_indices=(0, 2))
    assert len(model.stages) == 3
    assert model.stages[2].downsample is None
    assert not hasattr(model, "norm1")
    sum(out.sum() for out in model(torch.randn(1, 3, 70, 70))).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_deeper_networks_state_loads_without_its_later_stages(build, network):
    whole = build()
    part = network(**NARROW, out_indices=(0, 1)).eval()
    part.load_state_dict(whole.state_dict())
    x = torch.randn(1, 3, 64, 64)
    assert all(torch.equal(a, b) for a, b in zip(part(x), whole.eval()(x)[:2], strict=True))


def test_stochastic_depth_grows_linearly_over_the_whole_depth(build):
    model = build(drop_path_rate=0.7)
    rates = [block.drop.rate for stage in model.stages for block in stage.blocks]
    assert rates == pytest.approx([0.1 * i for i in range(8)])
    assert build(drop_path_rate=0.7, out_indices=(0,)).stages[0].blocks[1].drop.rate == rates[1]


@pytest.mark.parametrize("argument", ["drop_rate", "attn_drop_rate", "drop_path_rate"])
def test_evaluation_is_deterministic_and_training_is_not(build, argument):
    model = build(**{"drop_path_rate": 0.0, argument: 0.5})
    x = torch.randn(4, 3, 32, 32)
    assert not torch.equal(model(x)[-1], model(x)[-1])
    model.eval()
    assert torch.equal(model(x)[-1], model(x)[-1])


@pytest.mark.parametrize("frozen_stages", [0, 1, 2, 4])
def test_what_is_frozen_is_frozen_from_construction_and_stays_so(build, frozen_stages):
    model = build(frozen_stages=frozen_stages, use_abs_pos_embed=True)
    fixed = {name for name, p in model.named_parameters() if not p.requires_grad}
    prefixes = ["patch_embed", "absolute_pos_embed"]
    prefixes += [f"{kind}{i}" for i in range(frozen_stages) for kind in ("stages.", "norm")]
    assert fixed == {
        name
        for name, _ in model.named_parameters()
        if any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)
    }
    model.train()
    assert not model.patch_embed.training
    assert all(not stage.training for stage in model.stages[:frozen_stages])
    assert all(stage.training for stage in model.stages[frozen_stages:])


def test_position_embeddings_are_interpolated_to_the_picture(build):
    model = build(use_abs_pos_embed=True, pretrain_img_size=(32, 48), drop_path_rate=0.0).eval()
    assert model.absolute_pos_embed.shape == (1, 8 * 12, 8)
    without = build(drop_path_rate=0.0).eval()
    without.load_state_dict(
        {k: v for k, v in model.state_dict().items() if k != "absolute_pos_embed"}
    )
    for size in ((32, 48), (20, 70), (1, 1)):
        x = torch.randn(1, 3, *size)
        assert worst_difference(model(x)[0], without(x)[0]) > 1e-3
    model.absolute_pos_embed.data.zero_()
    assert torch.equal(model(x)[0], without(x)[0])


def test_windows_may_be_oblong_and_differ_by_stage(build):
    model = build(window_size=((2, 4), 3, (1, 5), 7))
    sides = [stage.blocks[0].attn.w_msa.window_size for stage in model.stages]
    assert sides == [(2, 4), (3, 3), (1, 5), (7, 7)]
    assert model(torch.randn(1, 3, 56, 112))[0].shape == (1, 8, 14, 28)


def test_recomputing_changes_no_map_and_no_gradient(build):
    x = torch.randn(1, 3, 40, 60)
    results = []
    for with_cp in (False, True):
        model = build(with_cp=with_cp, drop_path_rate=0.0)
        assert all(block.with_cp == with_cp for stage in model.stages for block in stage.blocks)
        maps = model(x)
        sum(out.square().mean() for out in maps).backward()
        results.append([*maps, *(p.grad for p in model.parameters())])
    for plain, again in zip(*results, strict=True):
        torch.testing.assert_close(plain, again)


@pytest.mark.parametrize(
    "option",
    [
        {"qkv_bias": False},
        {"patch_norm": False},
        {"mlp_ratio": 2},
        {"window_size": 3},
        {"strides": (4, 2, 2, 1)},
        {"act_cfg": {"type": "ReLU"}},
        {"norm_cfg": {"type": "LN", "eps": 0.1}},
    ],
    ids=lambda option: next(iter(option)),
)
def test_options_have_an_effect(build, option):
    x = torch.randn(1, 3, 64, 64)
    plain, changed = build().eval(), build(**option).eval()
    fitting = {k: v for k, v in plain.state_dict().items() if k in changed.state_dict()}
    shapes = {k: v.shape for k, v in changed.state_dict().items()}
    if all(shapes[k] == v.shape for k, v in fitting.items()):
        changed.load_state_dict(fitting, strict=False)
    before, after = plain(x)[3], changed(x)[3]
    assert before.shape != after.shape or worst_difference(after, before) > 1e-3


@pytest.mark.parametrize("option", [{"mask_padding": True}, {"small_maps": "still"}])
def test_the_flags_reach_every_block_and_change_the_maps(build, option):
    x = torch.randn(1, 3, 50, 50)
    plain, changed = build().eval()(x), build(**option).eval()(x)
    assert worst_difference(changed[3], plain[3]) > 1e-3
    (name,) = option
    blocks = [block.attn for stage in build(**option).stages for block in stage.blocks]
    assert all(getattr(attn, name) == option[name] for attn in blocks)


def test_fresh_linear_weights_are_the_authors(network):
    model = network(variant="tiny")
    linear = model.stages[3].blocks[0].ffn.layers[1]
    assert linear.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert not linear.bias.any()
    before = linear.weight.clone()
    model.init_weights()
    assert not torch.equal(before, linear.weight)
    assert linear.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_other_initialisations_of_mmengine_are_obeyed(network):
    model = network(
        **NARROW, init_cfg={"type": "Constant", "layer": "Linear", "val": 3.0, "bias": 1.0}
    )
    model.init_weights()
    assert (model.stages[0].blocks[0].attn.w_msa.qkv.weight == 3).all()


def test_a_model_survives_copies_pickles_and_other_dtypes(build):
    model = build().eval()
    x = torch.randn(1, 3, 33, 40)
    expected = model(x)[3]
    assert torch.equal(copy.deepcopy(model)(x)[3], expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(x)[3], expected)
    assert worst_difference(model.double()(x.double())[3].float(), expected) < 1e-5


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_networks_run_and_stay_near(build, dtype, grad):
    model = build(use_abs_pos_embed=True).eval()
    x = torch.randn(1, 3, 50, 70)
    exact = model(x)[3]
    with torch.set_grad_enabled(grad):
        out = model.to(dtype)(x.to(dtype))[3]
    assert out.dtype == dtype
    assert worst_difference(out.float(), exact) < 0.2


@pytest.mark.parametrize("grad", [True, False])
def test_autocast_runs_and_stays_near(build, grad):
    model = build(drop_path_rate=0.0)
    x = torch.randn(1, 3, 50, 70)
    exact = model(x)[3]
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.set_grad_enabled(grad):
        out = model(x)[3]
    assert worst_difference(out.float(), exact) < 0.2
    if grad:
        out.float().sum().backward()
        assert all(p.grad.isfinite().all() for p in model.stages.parameters())


def test_any_channels_are_taken_and_other_shapes_refused(build):
    assert build(in_channels=5)(torch.randn(1, 5, 9, 9))[0].shape == (1, 8, 3, 3)
    with pytest.raises(ValueError, match=r"\(batch, 3, height, width\), got shape \(1, 4, 9, 9\)"):
        build()(torch.randn(1, 4, 9, 9))
    with pytest.raises(ValueError, match="at least 1 x 1 px"):
        build()(torch.randn(1, 3, 0, 9))


def test_modules_are_all_torchs_and_ours(build):
    """No module of MMCV or of the host is needed to run."""
    roots = {type(module).__module__.split(".")[0] for module in build().modules()}
    assert roots == {"torch", "swin_mm"}
    assert isinstance(build().norm0, nn.LayerNorm)
