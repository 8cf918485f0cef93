"""Chunks of windows give what the whole map gives, and what the reference path gives."""

import copy
import statistics
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from chunked_networks import KINDS, SIZES, assert_alike, build, gradients
from random_weights import randomise, worst_difference

from swin_mm import SwinTransformer
from swin_mm.ops.block import GradientSums, WindowBatch

pytestmark = pytest.mark.usefixtures("small_chunks")

CHANGES = [
    {},
    {"window_size": 3},
    {"window_size": (2, 5)},
    {"small_maps": "still"},
    {"mask_padding": True},
    {"qkv_bias": False, "patch_norm": False},
]


@pytest.mark.usefixtures("worker")
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


@pytest.mark.usefixtures("worker")
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
    assert results[1][0] is None
    assert results[1][1].abs().sum() > 0


HALF = [("autocast", torch.bfloat16), ("pure", torch.bfloat16), ("pure", torch.float16)]


def errors_by_double(model, mode, dtype):
    """Make a function that returns each map's and gradient's error in half precision."""
    x, double = torch.randn(2, 3, 50, 70), copy.deepcopy(model).double()
    with torch.no_grad():
        exact = dict(enumerate(double(x.double())))
    exact |= gradients(double, x.double())
    half = model if mode == "autocast" else copy.deepcopy(model).to(dtype)
    x = x if mode == "autocast" else x.to(dtype)

    def errors():
        with torch.autocast("cpu", dtype, enabled=mode == "autocast"):
            with torch.no_grad():
                maps = half(x)
            found = {**dict(enumerate(maps)), **gradients(half, x)}
        return {name: float((found[name] - e).norm() / e.norm()) for name, e in exact.items()}

    return errors


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("mode", "dtype"), HALF, ids=str)
@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_is_as_near_to_double_as_on_the_whole(kind, with_cp, mode, dtype, whole):
    """Each map and gradient, as the length of its error by its own.

    One by one they are noise: up to 1.4 times the whole path's, a cosine's factor of one number
    more. Their median is not: at most 1.1 times.
    """
    errors = errors_by_double(build(kind, with_cp=with_cp), mode, dtype)
    ours, theirs = errors(), whole(errors)
    for name, error in ours.items():
        room = 5 if "logit_scale" in str(name) else 2  # a number or two
        assert error < room * (theirs[name] + 0.01), name
    assert statistics.median(ours.values()) < 1.25 * statistics.median(theirs.values())


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(("mode", "dtype"), [*HALF, ("autocast", torch.float16)], ids=str)
@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_products_in_float32_are_nearer_to_double(kind, with_cp, mode, dtype, half_products):
    """As they are where a processor has no instructions for half precision.

    Of a network in half precision most of the error is that of its rounded weights.
    """
    errors = errors_by_double(build(kind, with_cp=with_cp), mode, dtype)

    def median(has):
        half_products(has)
        return statistics.median(errors().values())

    assert median(False) < (0.9 if mode == "autocast" else 1.1) * median(True)


@pytest.mark.usefixtures("worker")
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


@pytest.mark.usefixtures("worker")
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


@pytest.mark.usefixtures("worker")
def test_training_follows_inference_mode():
    model, x = build(SwinTransformer, with_cp=True), torch.randn(1, 3, 60, 70)
    with torch.inference_mode():
        model(x)
    assert gradients(model, x)["stages.0.blocks.1.norm1.weight"].abs().sum() > 0


@pytest.mark.usefixtures("worker")
def test_threads_through_one_network_equal_one_after_the_other():
    model = build(SwinTransformer).eval()
    pictures = [torch.randn(1, 3, 20 + 3 * i, 90 - 2 * i) for i in range(16)]

    def run(x):
        with torch.no_grad():
            return model(x)[1]

    alone = [run(x) for x in pictures]
    with ThreadPoolExecutor(8) as pool:
        assert all(map(torch.equal, pool.map(run, pictures), alone))
