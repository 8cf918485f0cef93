"""Norms in one pass with what comes next give what modules give, and step back where they must."""

from unittest.mock import Mock

import pytest
import torch
from random_weights import randomise, worst_difference
from torch import nn

from swin_mm.layers import PatchMerging, norms, patch
from swin_mm.layers.norms import normed_map
from swin_mm.ops.kernels import without_kernels

pytestmark = pytest.mark.usefixtures("kernels")


def merging(post_norm=False, norm=nn.LayerNorm):
    return PatchMerging(6, 12, stride=2, norm=norm, post_norm=post_norm)


LAYERS = {
    "map": lambda: nn.LayerNorm(6),
    "merging": merging,
    "merging, norm last": lambda: merging(post_norm=True),
    "merging, no norm": lambda: merging(norm=None),
}


def run(layer, x):
    return normed_map(layer, x) if isinstance(layer, nn.LayerNorm) else layer(x)


@pytest.fixture
def calls(monkeypatch):
    """How often a kernel was called."""
    for module, name in ((norms, "norm_to_map"), (patch, "merge_normed")):
        monkeypatch.setattr(module, name, Mock(side_effect=getattr(module, name)))
    return lambda: norms.norm_to_map.call_count + patch.merge_normed.call_count


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("mode", ["fp32", "bf16", "autocast"])
@pytest.mark.parametrize("size", [(0, 3, 4), (2, 1, 1), (3, 5, 8), (1, 31, 17)])
@pytest.mark.parametrize("layer", LAYERS)
def test_kernels_give_what_the_modules_give(layer, size, mode, has, half_products, calls):
    half_products(has)
    layer, x = randomise(LAYERS[layer]()), torch.randn(*size, 6)
    exact = run(layer.double(), x.double())
    layer.float()
    if mode == "bf16":
        layer, x = layer.bfloat16(), x.bfloat16()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
        ours, number = run(layer, x), calls()
        with without_kernels():
            theirs = run(layer, x)
    assert (number, calls()) == (1, 1)
    assert (ours.shape, ours.dtype, ours.stride()) == (theirs.shape, theirs.dtype, theirs.stride())
    if ours.numel():
        off, theirs_off = (worst_difference(one.double(), exact) for one in (ours, theirs))
        assert off < 1.3 * theirs_off + 1e-6


@pytest.mark.parametrize("layer", LAYERS)
def test_a_part_of_a_wider_map_is_read_as_it_is(layer, calls):
    layer = randomise(LAYERS[layer]())
    wide = torch.randn(2, 7, 9, 13)
    with torch.no_grad():
        ours = run(layer, wide[..., 3:9])
        assert calls() == 1
        with without_kernels():
            assert worst_difference(ours, run(layer, wide[..., 3:9])) < 1e-5


STEP_BACK = {
    "a gradient of x": lambda layer, x: (layer.requires_grad_(False), x.requires_grad_()),
    "a gradient of weights": lambda layer, x: (layer, x),
    "float64": lambda layer, x: (layer.double().requires_grad_(False), x.double()),
    "float16": lambda layer, x: (layer.half().requires_grad_(False), x.half()),
}


@pytest.mark.parametrize("why", STEP_BACK)
@pytest.mark.parametrize("layer", LAYERS)
def test_modules_run_where_kernels_may_not(layer, why, calls):
    layer, x = STEP_BACK[why](LAYERS[layer](), torch.randn(1, 4, 6, 6))
    assert run(layer, x).dtype == x.dtype
    assert calls() == 0


@pytest.mark.parametrize(
    "norm",
    [
        lambda c: nn.LayerNorm(c, elementwise_affine=False),
        lambda c: nn.LayerNorm(c, bias=False),
        lambda c: nn.LayerNorm((6, c)),
        lambda c: nn.RMSNorm(c),
    ],
)
def test_other_norms_are_no_kernels(norm, calls):
    x = torch.randn(2, 4, 6, 24)
    with torch.no_grad():
        layer = norm(24)
        assert torch.equal(normed_map(layer, x), layer(x).permute(0, 3, 1, 2))
        small = merging(norm=norm if norm(24).normalized_shape == (24,) else None)
        small(x[..., :6])
    assert calls() == (norm(24).normalized_shape != (24,))


@pytest.mark.parametrize("layer", LAYERS)
def test_frozen_layers_use_kernels_though_gradients_are_on(layer, calls):
    frozen = LAYERS[layer]().requires_grad_(False)
    run(frozen, torch.randn(1, 4, 6, 6))
    assert calls() == 1


@pytest.mark.parametrize("layer", LAYERS)
def test_every_hook_is_called(layer, calls):
    for which in range(len(list(LAYERS[layer]().modules()))):
        made, seen = LAYERS[layer](), []
        list(made.modules())[which].register_forward_hook(lambda *_, seen=seen: seen.append(1))
        with torch.no_grad():
            run(made, torch.randn(1, 4, 6, 6))
        assert seen == [1]
    hooks_on_merging_itself = 0 if layer == "map" else 1  # which is called all the same
    assert calls() == hooks_on_merging_itself


def test_a_norm_of_another_size_is_an_error():
    norm = nn.LayerNorm(6)
    norm.weight = nn.Parameter(torch.ones(3))
    with torch.no_grad(), pytest.raises(RuntimeError):
        normed_map(norm, torch.randn(1, 4, 6, 6))


def test_a_gradient_reaches_what_stands_in_a_parameters_place(calls):
    norm = nn.LayerNorm(6).requires_grad_(False)
    scale = torch.ones(6, requires_grad=True)
    del norm.weight
    norm.weight = 2 * scale
    normed_map(norm, torch.randn(1, 4, 6, 6)).square().sum().backward()
    assert calls() == 0 and scale.grad.abs().sum() > 0


@pytest.mark.parametrize("mode", ["fp32", "bf16", "autocast"])
@pytest.mark.parametrize("layer", LAYERS)
def test_compiling_sees_one_graph_and_calls_no_kernel_by_itself(layer, mode, calls):
    torch._dynamo.reset()
    layer, x = LAYERS[layer](), torch.randn(1, 4, 6, 6)
    if mode == "bf16":
        layer, x = layer.bfloat16(), x.bfloat16()
    compiled = torch.compile(lambda x: run(layer, x), backend="eager", fullgraph=True)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
        found = compiled(x)
        assert calls() == 0
        assert worst_difference(found, run(layer, x)) < 0.01


@pytest.mark.parametrize("layer", LAYERS)
def test_maps_over_batches_traces_and_inference_mode(layer, calls):
    made, x = randomise(LAYERS[layer]()).requires_grad_(False), torch.randn(3, 1, 4, 6, 6)
    with torch.no_grad():
        mapped = torch.func.vmap(lambda x: run(made, x))(x)
        traced = torch.jit.trace(lambda x: run(made, x), x[0], check_trace=False)(x[1])
    assert calls() == 0
    with torch.inference_mode():
        found = run(made, x[1])
    assert calls() == 1
    assert max(worst_difference(found, other) for other in (mapped[1], traced)) < 1e-5
