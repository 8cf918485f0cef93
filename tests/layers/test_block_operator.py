"""A block as one operator in graphs of torch.compile: when it is, and that it is the same."""

import pytest
import torch
from chunked_networks import KINDS, assert_alike, build, gradients
from random_weights import worst_difference
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils._python_dispatch import TorchDispatchMode

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.layers import block_operator
from swin_mm.ops.attention import prefer_attention
from swin_mm.ops.kernels import without_kernels

aten = torch.ops.aten
pytestmark = pytest.mark.usefixtures("kernels", "small_chunks")

BLOCKS = 4
"""Of the networks here."""


@pytest.fixture(autouse=True)
def nothing_compiled():
    torch._dynamo.reset()


@pytest.fixture
def counter():
    return CompileCounterWithBackend("eager")


def operators(counter):
    """Names of our operators in the graph that was compiled last."""
    nodes = [str(node.target) for node in counter.graphs[-1].graph.nodes]
    return [name.split(".")[1] for name in nodes if name.startswith("swin_mm.")]


def blocks(counter):
    return sum(name.startswith("block") for name in operators(counter))


def compiled(counter, kind=SwinTransformer, **options):
    compile = {"backend": counter, "fullgraph": True, "dynamic": True}
    return build(kind, compile=compile, **options)


MODES = ["fp32", "bf16", "autocast"]


@pytest.mark.parametrize("mask_padding", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_inference_is_that_of_the_network_itself(kind, mode, mask_padding, counter):
    options = {"mask_padding": mask_padding, "small_maps": "still"}
    ours, theirs = compiled(counter, kind, **options), build(kind, **options)
    if mode == "bf16":
        ours, theirs = ours.bfloat16(), theirs.bfloat16()
    for size in [(60, 70), (2, 25), (56, 56)]:
        x = torch.randn(2, 3, *size, dtype=torch.bfloat16 if mode == "bf16" else None)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
            for found, wanted in zip(ours(x), theirs(x), strict=True):
                assert found.dtype == wanted.dtype
                assert worst_difference(found, wanted) < (1e-5 if mode == "fp32" else 0.02)
    assert operators(counter).count("block") == BLOCKS
    assert counter.frame_count == 1


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_so_are_gradients(kind, with_cp):
    counter = CompileCounterWithBackend("aot_eager")
    options = {"drop_path_rate": 0.5, "with_cp": with_cp}
    ours, theirs = compiled(counter, kind, **options), build(kind, **options)
    x = torch.randn(3, 3, 60, 70)
    found = []
    for model in (ours, theirs):
        torch.manual_seed(0)  # for stochastic depth; this backend draws as the network itself
        found.append(gradients(model, x))
    assert_alike(*found, bound=1e-4)
    assert operators(counter).count("block" if with_cp else "block_keeping") == BLOCKS


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_and_in_half_precision_they_are_no_farther_from_exact_ones(kind, with_cp):
    def off(compile):
        torch.manual_seed(0)
        model, x = build(kind, with_cp=with_cp, compile=compile), torch.randn(2, 3, 41, 50)
        exact = gradients(build(kind).double(), x.double())
        with torch.autocast("cpu", torch.bfloat16):
            found = gradients(model, x)
        return {name: float((found[name] - one).norm() / one.norm()) for name, one in exact.items()}

    ours, theirs = off({"backend": "aot_eager", "fullgraph": True}), off(False)
    assert max(ours.values()) < 1.2 * max(theirs.values()) + 1e-3
    assert max(ours.values()) > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_frozen_gets_no_gradient_and_the_rest_its_own(kind):
    counter = CompileCounterWithBackend("aot_eager")
    ours = frozen(kind, compile={"backend": counter, "fullgraph": True})
    x = torch.randn(2, 3, 40, 50)
    assert_alike(gradients(ours, x), gradients(frozen(kind), x), bound=2e-5)
    assert blocks(counter) == BLOCKS


def frozen(kind, **options):
    model = build(kind, frozen_stages=1, **options)
    for name, parameter in model.named_parameters():
        if "norm1" in name or "proj" in name or "bias" in name:
            parameter.requires_grad_(False)
    return model


class Products(TorchDispatchMode):
    """Notes dtypes of what is multiplied."""

    def __init__(self):
        super().__init__()
        self.dtypes = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in (aten.mm, aten.addmm, aten.bmm, aten.convolution_backward):
            self.dtypes |= {one.dtype for one in args if isinstance(one, torch.Tensor)}
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_computed_where_products_are_fast(kind, with_cp, half_products):
    half_products(False)
    model = build(kind, with_cp=with_cp, compile={"backend": "aot_eager", "fullgraph": True})
    with torch.autocast("cpu", torch.bfloat16):
        maps = model(torch.randn(2, 3, 40, 50))
    loss = sum(one.float().square().sum() for one in maps)
    with Products() as seen:
        loss.backward()
    assert seen.dtypes == {torch.float32}


def test_the_backward_pass_computes_as_the_forward_pass_did(half_products):
    counter = CompileCounterWithBackend("aot_eager")
    model, x = compiled(counter), torch.randn(1, 3, 40, 50)
    half_products(False)
    with torch.autocast("cpu", torch.bfloat16):
        maps = model(x)
    wanted = gradients_of(model, maps)
    with torch.autocast("cpu", torch.bfloat16):
        maps = model(x)
    half_products(True)
    found = gradients_of(model, maps)
    assert all(map(torch.equal, found, wanted))


def gradients_of(model, maps):
    return torch.autograd.grad(sum(one.square().sum() for one in maps), list(model.parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_no_pictures_have_gradients_of_zero(kind):
    model = build(kind, compile={"backend": "aot_eager", "dynamic": True, "fullgraph": True})
    sum(one.sum() for one in model(torch.randn(0, 3, 40, 50))).backward()
    assert all(not p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("has", [True, False])
def test_products_are_computed_where_they_are_fast(has, half_products, counter):
    half_products(has)
    model, x = compiled(counter), torch.randn(1, 3, 40, 50)
    exact = build(SwinTransformer).double()(x.double())
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        found, wanted = model(x), build(SwinTransformer)(x)
    assert all(map(torch.equal, found, wanted)) or has  # oneDNN's are not asked alike
    for one, other, third in zip(found, wanted, exact, strict=True):
        assert worst_difference(one.double(), third) < 1.5 * worst_difference(other.double(), third)


@pytest.mark.parametrize("with_cp", [False, True])
def test_tied_weights_share_a_gradient(with_cp):
    found, x = [], torch.randn(2, 3, 40, 50)
    for compile in ({"backend": "aot_eager", "fullgraph": True}, False):
        model = build(SwinTransformer, with_cp=with_cp, compile=compile)
        for block in (block for stage in model.stages for block in stage.blocks):
            block.norm2.weight = block.norm1.weight
        found.append(gradients(model, x))
    assert_alike(*found, bound=2e-5)


STAY_TRACED = {
    "float64": lambda model: model.double(),
    "float16": lambda model: model.half(),
    "a hook": lambda model: [
        block.ffn.register_forward_hook(lambda *_: None)
        for stage in model.stages
        for block in stage.blocks
    ],
    "dropout": lambda model: [
        setattr(block.attn.w_msa.attn_drop, "p", 0.5)
        for stage in model.stages
        for block in stage.blocks
    ],
}


@pytest.mark.parametrize("why", STAY_TRACED)
def test_unusual_blocks_are_traced(why, counter):
    model = compiled(counter)
    STAY_TRACED[why](model)
    x = torch.randn(1, 3, 40, 50, dtype=next(model.parameters()).dtype)
    with torch.no_grad():
        model(x)
    assert blocks(counter) == 0


def test_so_they_are_where_kernels_are_off_or_another_attention_is_asked_for(counter):
    model, x = compiled(counter), torch.randn(1, 3, 40, 50)
    with torch.no_grad():
        wanted = model(x)
        assert blocks(counter) == BLOCKS
        for context in (without_kernels(), prefer_attention("reference")):
            with context:
                found = model(x)
            assert blocks(counter) == 0
            assert max(map(worst_difference, found, wanted)) < 1e-5
        assert all(map(torch.equal, model(x), wanted))


def test_an_exported_graph_has_operators_of_torch_alone():
    model, x = build(SwinTransformer).eval(), torch.randn(1, 3, 40, 50)
    for strict in (True, False):
        graph = torch.export.export(model, (x,), strict=strict).graph
        assert not [node for node in graph.nodes if "swin_mm" in str(node.target)]


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_transforms_of_functions_are_traced(transform, counter):
    model = build(SwinTransformer).requires_grad_(False)

    def mapped(x):
        return torch.func.vmap(lambda one: model(one)[1])(x)

    def differentiated(x):
        return torch.func.grad(lambda x: model(x[0])[1].square().sum())(x)

    function = mapped if transform == "vmap" else differentiated
    x = torch.randn(2, 1, 3, 40, 50)
    found = torch.compile(function, backend=counter, fullgraph=True)(x)
    assert worst_difference(found, function(x)) < 1e-5
    assert counter.frame_count == 1


@pytest.mark.parametrize("kept", ["kept", "computed again"])
@pytest.mark.parametrize("factors", [0, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_torch_finds_nothing_against_the_operators(kind, factors, kept):
    block = build(kind).stages[1].blocks[1]
    x = torch.randn(2, 10, 9, 16, requires_grad=True)
    weights = block.weights()
    tensors = [one.detach().requires_grad_() for one in weights.tensors() if one is not None]
    drawn = [torch.tensor([2.0, 0.0])] * factors
    options = block_operator._Options.of(block, weights, x)
    operator = block_operator._block_keeping if kept == "kept" else block_operator._block
    torch.library.opcheck(operator, (x, tensors, drawn, *options))


@pytest.mark.parametrize("kind", [SwinTransformer, SwinTransformerV2])
def test_no_mask_of_all_windows_is_in_the_graph(kind, counter):
    model = compiled(counter, kind)
    with torch.no_grad():
        model(torch.randn(1, 3, 40, 50))
    shapes = [
        tuple(node.meta["example_value"].shape)
        for node in counter.graphs[-1].graph.nodes
        if isinstance(node.meta.get("example_value"), torch.Tensor)
    ]
    tables = [shape for shape in shapes if len(shape) > 2 and shape[-2:] == (49, 49)]
    assert shapes and all(shape[0] <= 2 for shape in tables)  # of the heads' bias
