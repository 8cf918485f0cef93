"""Chunks of windows give what the whole map gives, and what the reference path gives."""

import copy
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from random_weights import randomise, worst_difference

import swin_mm.layers.block
import swin_mm.layers.chunked
from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.layers import FFN
from swin_mm.ops.attention import prefer_attention
from swin_mm.ops.block import GradientSums, WindowBatch
from swin_mm.ops.chunks import ChunkCache

SIZES = {"embed_dims": 8, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
SIZES |= {"out_indices": (0, 1), "drop_path_rate": 0.0}
KINDS = [SwinTransformer, SwinTransformerV2]
CHANGES = [
    {},
    {"window_size": 3},
    {"window_size": (2, 5)},
    {"small_maps": "still"},
    {"mask_padding": True},
    {"qkv_bias": False, "patch_norm": False},
]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Let maps of tests have several chunks, and several pictures share one."""
    monkeypatch.setattr("swin_mm.ops.chunks.BYTES", 800)
    monkeypatch.setattr("swin_mm.layers.chunked.CHUNKS", ChunkCache())


@pytest.fixture
def whole(monkeypatch):
    """Return a function that runs something on whole maps alone."""

    def run(function):
        with monkeypatch.context() as patch:
            patch.setattr(swin_mm.layers.block, "can_run_by_chunks", lambda *_: False)
            return function()

    return run


def build(kind, **changes):
    return randomise(kind(**{**SIZES, **changes}))


def gradients(model, x):
    generator = torch.Generator().manual_seed(3)
    x = x.clone().requires_grad_()
    maps = model(x)
    model.zero_grad()
    sum((m * torch.randn(m.shape, generator=generator).to(m.dtype)).sum() for m in maps).backward()
    return {"x": x.grad, **{name: p.grad for name, p in model.named_parameters()}}


def assert_alike(ours, theirs, bound=1e-9):
    floor = 1e-3 * max(float(g.abs().max()) for g in theirs.values() if g is not None)
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        assert (ours[name] is None) == (gradient is None), name
        if gradient is not None:
            worst = float((ours[name] - gradient).abs().max())
            assert worst <= bound * max(float(gradient.abs().max()), floor), name


@pytest.mark.parametrize("size", [(1, 1), (31, 33), (56, 224), (90, 130)])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_those_of_the_whole(kind, changes, size, whole):
    model, x = build(kind, **changes).eval(), torch.randn(3, 3, *size)
    with torch.no_grad():
        assert max(map(worst_difference, model(x), whole(lambda: model(x)))) < 1e-5


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (31, 33), (56, 130)])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_whole(kind, changes, size, with_cp, whole):
    """In float64, where sums in another order are no excuse."""
    model = build(kind, with_cp=with_cp, **changes).double()
    x = torch.randn(3, 3, *size).double()
    assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))


def test_the_comparison_sees_a_gradient_that_is_left_out(whole, monkeypatch):
    model = build(SwinTransformer, with_cp=True).double()
    x = torch.randn(1, 3, 56, 130).double()
    put = WindowBatch.put_real
    monkeypatch.setattr(WindowBatch, "put_real", lambda self, x: 0 * put(self, x))
    with pytest.raises(AssertionError):
        assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_stochastic_depth_drops_the_same_pictures(kind, with_cp, whole):
    model = build(kind, with_cp=with_cp, drop_path_rate=0.6).double().train()
    x = torch.randn(8, 3, 40, 40).double()

    def run():
        torch.manual_seed(5)
        return gradients(model, x)

    assert_alike(run(), whole(run))


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_frozen_parameters_are_not_computed(kind, with_cp, monkeypatch):
    model, results = build(kind, with_cp=with_cp, frozen_stages=1), []
    model.stages[1].blocks[0].norm1.weight.requires_grad_(False)
    original = GradientSums.result
    monkeypatch.setattr(
        GradientSums, "result", lambda *a: results.append(original(*a)) or results[-1]
    )
    found = gradients(model, torch.randn(1, 3, 60, 70))
    assert found["stages.1.blocks.0.norm1.bias"].abs().sum() > 0
    assert len(results) == 4  # the frozen stage too passes a gradient on to the picture
    assert all(one is None for result in results[2:] for one in result)
    assert results[1][0] is None and results[1][1] is not None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["autocast", "pure"])
@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_is_as_near_to_double_as_on_the_whole(kind, with_cp, mode, dtype, whole):
    if mode == "autocast" and dtype is torch.float16:
        pytest.skip("autocast of the CPU is for bfloat16")
    model, x = build(kind, with_cp=with_cp), torch.randn(2, 3, 50, 70)
    exact = copy.deepcopy(model).double()(x.double())
    exact_gradients = gradients(copy.deepcopy(model).double(), x.double())
    half = model if mode == "autocast" else copy.deepcopy(model).to(dtype)
    x = x if mode == "autocast" else x.to(dtype)

    def errors():
        with torch.autocast("cpu", dtype, enabled=mode == "autocast"):
            with torch.no_grad():
                maps = [
                    worst_difference(m.double(), e) for m, e in zip(half(x), exact, strict=True)
                ]
            found = gradients(half, x)
        name = "stages.1.blocks.0.ffn.layers.1.weight"
        return max(maps), worst_difference(found[name].double(), exact_gradients[name])

    for ours, theirs in zip(errors(), whole(errors), strict=True):
        assert ours < 1.5 * theirs + 1e-3


def test_a_hook_sees_the_whole_map_and_changes_no_number():
    model, x, seen = build(SwinTransformer).eval(), torch.randn(1, 3, 90, 130), []
    with torch.no_grad():
        before = model(x)
        ffn = model.stages[0].blocks[1].ffn
        handle = ffn.register_forward_hook(lambda _, given, out: seen.append(tuple(out.shape)))
        after = model(x)
        handle.remove()
        model(x)
    assert seen == [(1, 23, 33, 8)]
    assert max(map(worst_difference, after, before)) < 1e-5


def test_dropout_does_not_depend_on_chunks(whole):
    model, x = (
        build(SwinTransformer, drop_rate=0.3, attn_drop_rate=0.2).train(),
        torch.randn(1, 3, 90, 90),
    )

    def run():
        torch.manual_seed(1)
        with torch.no_grad():
            return model(x)

    assert all(map(torch.equal, run(), whole(run)))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_kept_survives_a_change_of_weights(kind, whole):
    model, x = build(kind).eval(), torch.randn(1, 3, 60, 70)

    def same():
        with torch.no_grad():
            return max(map(worst_difference, model(x), whole(lambda: model(x)))) < 1e-5

    assert same()
    randomise(model, seed=1)
    assert same()
    model.load_state_dict(randomise(kind(**SIZES), seed=2).state_dict())
    assert same()
    model.stages[0].blocks[0].ffn.layers[1] = torch.nn.Linear(32, 8)
    assert same()
    model.double()
    x = x.double()
    assert same()


def test_training_follows_inference_mode():
    model, x = build(SwinTransformer, with_cp=True), torch.randn(1, 3, 60, 70)
    with torch.inference_mode():
        model(x)
    assert gradients(model, x)["stages.0.blocks.1.norm1.weight"].abs().sum() > 0


def test_threads_through_one_network_equal_one_after_the_other():
    model = build(SwinTransformer).eval()
    pictures = [torch.randn(1, 3, 20 + 3 * i, 90 - 2 * i) for i in range(16)]

    def run(x):
        with torch.no_grad():
            return model(x)[1]

    alone = [run(x) for x in pictures]
    with ThreadPoolExecutor(8) as pool:
        assert all(map(torch.equal, pool.map(run, pictures), alone))


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_of_a_gradient_is_that_of_the_whole(kind, with_cp, whole):
    model = build(kind, with_cp=with_cp).double()
    x = torch.randn(2, 3, 40, 50).double().requires_grad_()

    def again():
        model.zero_grad()
        (first,) = torch.autograd.grad(model(x)[1].sin().sum(), x, create_graph=True)
        first.square().sum().backward()
        return {name: p.grad for name, p in model.named_parameters()}

    found = again()
    model = build(kind).double()  # torch's own recomputation is not asked twice
    assert_alike(found, whole(again))


def test_backward_may_run_twice_where_its_graph_is_retained():
    model, x = build(SwinTransformer), torch.randn(1, 3, 60, 70)
    out = model(x)[1].sum()
    out.backward(retain_graph=True)
    first = model.stages[0].blocks[0].attn.w_msa.qkv.weight.grad.clone()
    out.backward()
    assert torch.equal(model.stages[0].blocks[0].attn.w_msa.qkv.weight.grad, 2 * first)


def test_a_weight_that_changes_before_the_backward_pass_is_an_error():
    model, x = build(SwinTransformer), torch.randn(1, 3, 60, 70)
    out = model(x)[1].sum()
    with torch.no_grad():
        model.stages[1].blocks[0].ffn.layers[1].weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_derivatives_forwards_are_those_of_differences():
    model = build(SwinTransformer).double()
    x, towards = torch.randn(2, 1, 3, 40, 50).double()
    step = 1e-6
    with prefer_attention("reference"):  # the fused kernel has none
        found = torch.func.jvp(lambda x: model(x)[1], (x,), (towards,))[1]
    wanted = (model(x + step * towards)[1] - model(x - step * towards)[1]) / (2 * step)
    assert worst_difference(found, wanted) < 1e-6


@pytest.mark.parametrize(
    "change",
    [
        {"act_cfg": {"type": "ReLU"}},
        {"act_cfg": {"type": "GELU", "approximate": "tanh"}},
        {"norm_cfg": {"type": "LN", "elementwise_affine": False}},
        {"norm_cfg": {"type": "LN", "eps": 1e-2}},
    ],
    ids=str,
)
def test_other_activations_and_norms_give_what_the_whole_gives(change, whole):
    model = build(SwinTransformer, **change).double()
    x = torch.randn(2, 3, 50, 60).double()
    assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))


def test_an_attention_that_was_asked_for_is_taken(monkeypatch):
    model, x = build(SwinTransformer).eval(), torch.randn(1, 3, 60, 70)
    monkeypatch.setattr("swin_mm.layers.block.run_by_chunks", None)  # fails if it is called
    with torch.no_grad(), prefer_attention("reference"):
        model(x)
    with torch.no_grad(), pytest.raises(TypeError):
        model(x)


def test_tied_weights_have_one_gradient_each(whole):
    model = build(SwinTransformer).double()
    model.stages[0].blocks[0].norm2 = model.stages[0].blocks[0].norm1
    model.stages[1].blocks[0] = model.stages[1].blocks[1]
    x = torch.randn(1, 3, 40, 50).double().requires_grad_()

    def first(create_graph):
        weights = [x, *model.parameters()]
        out = sum(one.sin().sum() for one in model(x))
        return dict(enumerate(torch.autograd.grad(out, weights, create_graph=create_graph)))

    wanted = whole(lambda: first(create_graph=False))
    assert_alike(first(create_graph=False), wanted)
    assert_alike({k: g.detach() for k, g in first(create_graph=True).items()}, wanted)


class Doubled(torch.nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class OtherFFN(FFN):
    def forward(self, x):
        return 2 * super().forward(x)


def replace_linear(block):
    block.attn.w_msa.proj.__class__ = Doubled


def replace_ffn(block):
    block.ffn.__class__ = OtherFFN


def replace_last(block):
    block.ffn.layers[2] = torch.nn.Tanh()


def lengthen(block):
    block.ffn.layers.append(torch.nn.Tanh())


def shorten(block):
    block.ffn = torch.nn.Linear(8, 8)


def patch(block):
    forward = block.attn.w_msa.qkv.forward
    block.attn.w_msa.qkv.forward = lambda x: 2 * forward(x)


def without_drop(block):
    block.drop = torch.nn.Identity()


@pytest.mark.parametrize(
    "change", [replace_linear, replace_ffn, replace_last, lengthen, shorten, patch, without_drop]
)
def test_what_took_a_parts_place_is_what_runs(change, whole):
    model, x = build(SwinTransformer), torch.randn(1, 3, 50, 60).double()
    change(model.stages[0].blocks[1])
    model.double()
    assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))


def test_gradients_of_many_outputs_come_at_once():
    model = build(SwinTransformer).double()
    x = torch.randn(1, 3, 20, 20).double().requires_grad_()
    out = model(x)[1][0, :3, 0, 0]
    (together,) = torch.autograd.grad(
        out, x, torch.eye(3).double(), is_grads_batched=True, retain_graph=True
    )
    for one, row in zip(together, range(3), strict=True):
        (alone,) = torch.autograd.grad(out[row], x, retain_graph=True)
        assert worst_difference(one, alone) < 1e-9


def test_a_network_maps_over_batches():
    model, x = build(SwinTransformer).eval().requires_grad_(False), torch.randn(2, 1, 3, 40, 50)
    with prefer_attention("reference"):
        found = torch.func.vmap(lambda x: model(x)[1])(x)
    assert worst_difference(found[1], model(x[1])[1]) < 1e-5


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_trace_can_be_saved(tmp_path):
    model, x = build(SwinTransformer).eval().requires_grad_(False), torch.randn(1, 3, 40, 50)
    with torch.no_grad():
        traced = torch.jit.trace(lambda x: model(x)[1], x, check_trace=False)
        traced.save(str(tmp_path / "network.pt"))
        found = torch.jit.load(str(tmp_path / "network.pt"))(x)
        assert worst_difference(found, model(x)[1]) < 1e-5


@pytest.mark.parametrize("with_cp", [False, True])
def test_no_pictures_give_no_maps_and_gradients_of_zero(with_cp):
    model = build(SwinTransformer, with_cp=with_cp)
    maps = model(torch.randn(0, 3, 40, 50))
    assert [tuple(one.shape) for one in maps] == [(0, 8, 10, 13), (0, 16, 5, 7)]
    sum(one.sum() for one in maps).backward()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
