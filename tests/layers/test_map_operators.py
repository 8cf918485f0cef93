"""Merging and output norms as operators in graphs of torch.compile: the same as the modules."""

import pytest
import torch
from random_weights import randomise, worst_difference
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from swin_mm.layers import PatchMerging, map_operators
from swin_mm.layers.norms import normed_map
from swin_mm.ops.kernels import without_kernels

pytestmark = pytest.mark.usefixtures("kernels")

LAYERS = {
    "map": lambda: nn.LayerNorm(6),
    "merging": lambda: PatchMerging(6, 12, stride=2, norm=nn.LayerNorm),
    "merging, norm last": lambda: PatchMerging(6, 12, stride=2, norm=nn.LayerNorm, post_norm=True),
    "merging, no norm": lambda: PatchMerging(6, 12, stride=2, norm=None),
    "merging, a bias": lambda: with_a_bias(),
}


def with_a_bias():
    layer = PatchMerging(6, 12, stride=2, norm=nn.LayerNorm)
    layer.reduction = nn.Linear(24, 12)
    return layer


SIZES = [(2, 4, 6), (1, 1, 1), (3, 5, 8), (1, 31, 17)]


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()


@pytest.fixture
def counter():
    return CompileCounterWithBackend("aot_eager")


def operators(counter):
    nodes = [str(node.target) for node in counter.graphs[-1].graph.nodes]
    return [name for name in nodes if name.startswith("swin_mm.")]


def run(layer, x):
    return normed_map(layer, x) if isinstance(layer, nn.LayerNorm) else layer(x)


def results(function, layer, x):
    """The layer's output, and gradients of x and of its parameters."""
    x = x.clone().requires_grad_()
    out = function(layer, x)
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out.dtype)
    return [out, *torch.autograd.grad(out, [x, *layer.parameters()], weight)]


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("mode", ["fp32", "bf16", "autocast"])
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_gradients_are_the_modules(name, mode, has, half_products, counter):
    half_products(has)
    layer = randomise(LAYERS[name]())
    exact = randomise(LAYERS[name]()).double()
    if mode == "bf16":
        layer = layer.bfloat16()
        exact.load_state_dict(layer.state_dict())
    compiled = torch.compile(run, backend=counter, fullgraph=True, dynamic=True)
    for size in SIZES:
        x = torch.randn(*size, 6, dtype=torch.bfloat16 if mode == "bf16" else None)
        with torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
            found, theirs = results(compiled, layer, x), results(run, layer, x)
        for one, other, wanted in zip(found, theirs, results(run, exact, x.double()), strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert one.is_contiguous() == other.is_contiguous()
            off, their_off = (float((o.double() - wanted).detach().norm()) for o in (one, other))
            assert off <= 1.5 * their_off + 1e-5 * float(wanted.norm())
        assert len(operators(counter)) == 1


@pytest.mark.parametrize("name", LAYERS)
def test_a_part_of_a_wider_map_is_read_as_it_is(name, counter):
    layer, wide = randomise(LAYERS[name]()), torch.randn(2, 7, 9, 13)
    compiled = torch.compile(run, backend=counter, fullgraph=True)
    for found, wanted in zip(
        results(compiled, layer, wide[..., 3:9]), results(run, layer, wide[..., 3:9]), strict=True
    ):
        assert worst_difference(found, wanted) < 1e-5


def overlapping():
    return PatchMerging(6, 12, stride=1, norm=nn.LayerNorm)


def hooked():
    layer = LAYERS["merging"]()
    layer.norm.register_forward_hook(lambda *_: None)
    return layer


UNUSUAL = {
    "float64": (lambda: LAYERS["map"]().double(), torch.float64),
    "float16": (lambda: LAYERS["map"]().half(), torch.float16),
    "other norm": (lambda: PatchMerging(6, 12, stride=2, norm=nn.RMSNorm), None),
    "overlapping": (overlapping, None),
    "a hook": (hooked, None),
}


@pytest.mark.parametrize("why", UNUSUAL)
def test_what_kernels_have_not_is_traced(why, counter):
    make, dtype = UNUSUAL[why]
    layer, x = make(), torch.randn(1, 4, 6, 6, dtype=dtype)
    found = torch.compile(run, backend=counter, fullgraph=True)(layer, x)
    assert operators(counter) == []
    assert worst_difference(found.double(), run(layer, x).double()) < 1e-3


def test_so_is_all_where_kernels_are_off(counter):
    layer, x = LAYERS["merging"](), torch.randn(1, 4, 6, 6)
    with without_kernels():
        torch.compile(run, backend=counter, fullgraph=True)(layer, x)
    assert operators(counter) == []


@pytest.mark.parametrize("affine", [True, False])
def test_torch_finds_nothing_against_the_operators(affine):
    x = torch.randn(2, 5, 8, 6, requires_grad=True)
    four, one = ([torch.randn(size, requires_grad=True) for _ in range(2)] for size in (24, 6))
    layer = [torch.randn(12, 24, requires_grad=True), torch.randn(12, requires_grad=True)]
    merging = (x, four if affine else [], layer[: 1 + affine], 1e-5, *[torch.float32] * 2)
    torch.library.opcheck(map_operators.merge_operator, merging)
    torch.library.opcheck(map_operators.norm_to_map_operator, (x, one, 1e-5))
