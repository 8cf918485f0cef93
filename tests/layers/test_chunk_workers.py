"""Kernels compute a block where they can, operators where they cannot, and both give the same."""

import os

import pytest
import torch
from chunked_networks import KINDS, assert_alike, build, gradients
from random_weights import worst_difference

from swin_mm import SwinTransformer
from swin_mm.layers import chunked
from swin_mm.layers.chunk_workers import ByKernels, ByOperators
from swin_mm.ops.kernels import without_kernels

pytestmark = pytest.mark.usefixtures("small_chunks", "kernels")

ONE = {"depths": (2,), "num_heads": (1,), "strides": (4,), "out_indices": (0,)}


def block(**changes):
    """A shifted block of 8 channels."""
    return build(SwinTransformer, **{**ONE, **changes}).stages[0].blocks[1].eval()


def by_operators(function):
    with without_kernels():
        return function()


@pytest.fixture
def workers(monkeypatch):
    """The kinds of those that are chosen, in their order."""
    chosen, choose = [], chunked.worker

    def spy(*args):
        chosen.append(choose(*args))
        return chosen[-1]

    monkeypatch.setattr(chunked, "worker", spy)
    return lambda: [type(one) for one in chosen]


MAPS = {
    "channels of a wider map": lambda: torch.randn(2, 15, 20, 24)[..., 8:16],
    "columns of a wider map": lambda: torch.randn(2, 15, 40, 8)[:, :, ::2],
    "channels first": lambda: torch.randn(2, 8, 15, 20).permute(0, 2, 3, 1),
    "one picture for all": lambda: torch.randn(1, 15, 20, 8).expand(2, -1, -1, -1),
    "one number for all": lambda: torch.randn(1, 1, 1, 1).expand(2, 15, 20, 8),
}


def run(one, x, above):
    """Output and gradients of a block."""
    with torch.no_grad():
        out = one(x)
    given = x.detach().requires_grad_()
    return [out, *torch.autograd.grad(one(given), [given, *one.parameters()], above)]


@pytest.mark.parametrize("name", [name for name in MAPS if name != "one number for all"])
def test_a_map_may_lie_in_memory_in_any_way(name):
    one, x, above = block(), MAPS[name](), torch.randn(2, 15, 20, 8)
    found, wanted = run(one, x, above), by_operators(lambda: run(one, x, above))
    assert max(map(worst_difference, found, wanted)) < 1e-5


@pytest.mark.parametrize("name", MAPS)
def test_so_may_a_gradient(name):
    one, x, above = block(), torch.randn(2, 15, 20, 8), MAPS[name]()
    found, wanted = run(one, x, above), by_operators(lambda: run(one, x, above))
    assert max(map(worst_difference, found, wanted)) < 1e-5


def test_what_kernels_began_they_end_though_they_are_turned_off_in_between(monkeypatch):
    one, x = block(), torch.randn(2, 15, 20, 8, requires_grad=True)
    wanted = torch.autograd.grad(one(x).square().sum(), [x, *one.parameters()])
    monkeypatch.setattr(ByOperators, "differentiate", None)  # fails if it is called
    out = one(x)
    with without_kernels():
        found = torch.autograd.grad(out.square().sum(), [x, *one.parameters()])
    assert all(map(torch.equal, found, wanted))


def test_what_operators_began_they_end_though_kernels_are_back(monkeypatch):
    one, x = block(), torch.randn(2, 15, 20, 8, requires_grad=True)
    monkeypatch.setattr(ByKernels, "differentiate", None)
    out = by_operators(lambda: one(x))
    torch.autograd.grad(out.square().sum(), [x, *one.parameters()])


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (torch.float32, ByKernels),
        (torch.bfloat16, ByKernels),
        (torch.float16, ByOperators),
        (torch.float64, ByOperators),
    ],
    ids=str,
)
def test_kernels_are_for_float32_and_bfloat16(dtype, wanted, workers):
    one, x = block().to(dtype), torch.randn(1, 8, 9, 8).to(dtype)
    with torch.no_grad():
        one(x)
    one(x.requires_grad_()).sum().backward()
    assert workers() == [wanted, wanted]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_under_autocast_it_is_the_dtype_of_the_linear_layers_that_counts(
    dtype, workers, half_products
):
    half_products(True)
    one, x = block(), torch.randn(1, 8, 9, 8)
    with torch.no_grad(), torch.autocast("cpu", dtype):
        one(x)
    assert workers() == [ByKernels if dtype is torch.bfloat16 else ByOperators]


@pytest.mark.parametrize(
    ("window", "channels", "wanted"),
    [
        ((24, 24), 8, ByKernels),
        ((24, 25), 8, ByOperators),
        ((2, 2), 256, ByKernels),
        ((2, 2), 257, ByOperators),
    ],
    ids=str,
)
def test_windows_and_heads_too_large_for_a_cores_cache_go_by_operators(
    window, channels, wanted, workers
):
    one, x = block(window_size=window, embed_dims=channels), torch.randn(1, 9, 7, channels)
    with torch.no_grad():
        found = one(x)
        assert workers() == [wanted]
        assert worst_difference(found.double(), one.double()(x.double())) < 1e-5


def test_turned_off_no_kernel_is_called(workers):
    one, x = block(), torch.randn(1, 8, 9, 8)
    with torch.no_grad(), without_kernels():
        one(x)
        with without_kernels():
            one(x)
        one(x)
    with torch.no_grad():
        one(x)
    assert workers() == [ByOperators, ByOperators, ByOperators, ByKernels]


CHANGES = [
    {},
    {"window_size": (2, 5)},
    {"small_maps": "still"},
    {"mask_padding": True},
    {"qkv_bias": False, "norm_cfg": {"type": "LN", "elementwise_affine": False}},
    {"norm_cfg": {"type": "LN", "eps": 1e-2}, "drop_path_rate": 0.6},
]


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_kernels_are_those_of_the_whole_in_float64(kind, changes, with_cp, whole):
    model, x = build(kind, with_cp=with_cp, **changes).train(), torch.randn(3, 3, 41, 53)

    def learn(model, x):
        torch.manual_seed(5)  # drops the same pictures
        return gradients(model, x)

    found = {name: g.double() for name, g in learn(model, x).items()}
    assert_alike(found, whole(lambda: learn(model.double(), x.double())), bound=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_number_but_the_order_of_sums(kind, threads):
    model, x, found = build(kind), torch.randn(2, 3, 41, 53), []
    for number in (1, 3, 3):
        threads(number)
        found.append(gradients(model, x))
    assert_alike(found[1], found[0], bound=1e-4)
    assert all(torch.equal(found[1][name], found[2][name]) for name in found[1])


def test_a_new_default_dtype_changes_nothing(workers):
    one, x = block(), torch.randn(2, 15, 20, 8)
    wanted = [one(x), *torch.autograd.grad(one(x).sum(), one.parameters())]
    torch.set_default_dtype(torch.float64)
    try:
        found = [one(x), *torch.autograd.grad(one(x).sum(), one.parameters())]
    finally:
        torch.set_default_dtype(torch.float32)
    assert set(workers()) == {ByKernels}
    assert all(map(torch.equal, found, wanted))


class Maps(torch.utils.data.Dataset):
    """Pictures that went through a network, in whichever process asks for them."""

    def __init__(self, network):
        self.network = network

    def __len__(self):
        return 2

    def __getitem__(self, index):
        with torch.no_grad():
            return self.network(torch.full((3, 40, 50), index / 2)[None])[1][0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_loaders_worker_may_run_a_network_that_its_parent_ran(threads):
    threads(2)
    maps = Maps(build(SwinTransformer).eval())
    wanted = torch.stack([maps[0], maps[1]])
    loader = torch.utils.data.DataLoader(
        maps, batch_size=2, num_workers=1, multiprocessing_context="fork", timeout=60
    )
    assert worst_difference(next(iter(loader)), wanted) < 1e-5


def test_a_gradient_of_a_gradient_goes_by_the_reference_whoever_went_forwards(workers):
    model, x = build(SwinTransformer), torch.randn(1, 3, 30, 40)

    def again(model, x):
        given = x.requires_grad_()
        (first,) = torch.autograd.grad(model(given)[1].sin().sum(), given, create_graph=True)
        first.square().sum().backward()
        return {name: p.grad.double() for name, p in model.named_parameters() if p.grad is not None}

    found = again(model, x)
    assert set(workers()) == {ByKernels}
    model.zero_grad()
    assert_alike(found, again(model.double(), x.detach().double()), bound=1e-3)


def test_tied_weights_have_one_gradient_each(workers):
    one, x = block(), torch.randn(2, 15, 20, 8)
    one.norm2 = one.norm1
    one.attn.w_msa.proj.bias = one.ffn.layers[1].bias

    def learn(x):
        weights = list(one.parameters())
        found = torch.autograd.grad(one(x).sin().sum(), weights)
        return {str(place): gradient.double() for place, gradient in enumerate(found)}

    found = learn(x)
    assert workers() == [ByKernels]
    one.double()
    assert_alike(found, learn(x.double()), bound=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_picture_of_no_numbers_spoils_no_other_picture(dtype, workers):
    model, x = build(SwinTransformer).eval(), torch.randn(3, 3, 30, 40)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype is torch.bfloat16), torch.no_grad():
        wanted = model(x)
        x[1, 0, 7, 9] = float("nan")
        found = model(x)
    assert set(workers()) == {ByKernels}
    for one, clean in zip(found, wanted, strict=True):
        assert one[1].isnan().any()
        assert torch.equal(one[::2], clean[::2])
