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
    seen = Mock()
    for module, name in ((norms, "norm_to_map"), (patch, "merge_normed")):
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, Mock(side_effect=kernel, wraps=seen))
    seen.count = lambda: norms.norm_to_map.call_count + patch.merge_normed.call_count
    return seen.count


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


def hooked(layer):
    next(iter(layer.modules())).register_forward_hook(lambda *_: None)
    list(layer.modules())[-1].register_forward_hook(lambda *_: None)
    return layer


STEP_BACK = {
    "a gradient of x": lambda layer, x: (layer.requires_grad_(False), x.requires_grad_()),
    "a gradient of weights": lambda layer, x: (layer, x),
    "a hook": lambda layer, x: (hooked(layer).requires_grad_(False), x),
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
def test_compiling_sees_no_kernel(layer, calls):
    layer, x = LAYERS[layer](), torch.randn(1, 4, 6, 6)
    with torch.no_grad():
        torch.compile(lambda x: run(layer, x), backend="eager")(x)
    assert calls() == 0
