"""Chunks under whatever else autograd, tracers and maps over batches ask of a network."""

import pytest
import torch
from chunked_networks import KINDS, assert_alike, build
from random_weights import worst_difference

from swin_mm import SwinTransformer

pytestmark = pytest.mark.usefixtures("small_chunks")


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


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", KINDS)
def test_so_it_is_in_half_precision_wherever_products_are_computed(kind, dtype, has, half_products):
    half_products(has)
    found = {}
    for wanted in (torch.float64, dtype):
        torch.manual_seed(0)
        model = build(kind).to(wanted)
        x = torch.randn(1, 3, 40, 50).to(wanted).requires_grad_()
        (first,) = torch.autograd.grad(model(x)[1].sin().sum(), x, create_graph=True)
        (found[wanted],) = torch.autograd.grad(first.square().sum(), x)
    off = (found[dtype].double() - found[torch.float64]).norm() / found[torch.float64].norm()
    assert found[dtype].dtype == dtype
    assert off < (0.2 if dtype == torch.bfloat16 else 0.1)


@pytest.mark.usefixtures("worker")
def test_backward_may_run_twice_where_its_graph_is_retained():
    model, x = build(SwinTransformer), torch.randn(1, 3, 60, 70)
    out = model(x)[1].sum()
    out.backward(retain_graph=True)
    first = model.stages[0].blocks[0].attn.w_msa.qkv.weight.grad.clone()
    out.backward()
    assert torch.equal(model.stages[0].blocks[0].attn.w_msa.qkv.weight.grad, 2 * first)


@pytest.mark.usefixtures("worker")
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
    found = torch.func.jvp(lambda x: model(x)[1], (x,), (towards,))[1]
    wanted = (model(x + step * towards)[1] - model(x - step * towards)[1]) / (2 * step)
    assert worst_difference(found, wanted) < 1e-6


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_default_device_is_not_where_chunks_are_made(kind, with_cp):
    model, x = build(kind, with_cp=with_cp, mask_padding=True), torch.randn(3, 3, 20, 23)
    found = []
    for device in ("meta", "cpu"):
        with torch.device(device):
            model.zero_grad()
            model(x)[1].square().sum().backward()
        found.append({name: p.grad for name, p in model.named_parameters()})
    assert_alike(*found)


@pytest.mark.parametrize("kind", KINDS)
def test_torch_func_gives_the_pictures_gradient_though_weights_learn(kind):
    model, x = build(kind).double(), torch.randn(1, 3, 20, 20).double().requires_grad_()
    (wanted,) = torch.autograd.grad(model(x)[1].sin().sum(), x)
    found = torch.func.grad(lambda x: model(x)[1].sin().sum())(x.detach())
    assert worst_difference(found, wanted) < 1e-9


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


@pytest.mark.usefixtures("worker")
def test_a_network_maps_over_batches():
    model, x = build(SwinTransformer).eval().requires_grad_(False), torch.randn(2, 1, 3, 40, 50)
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


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("with_cp", [False, True])
def test_no_pictures_give_no_maps_and_gradients_of_zero(with_cp):
    model = build(SwinTransformer, with_cp=with_cp)
    maps = model(torch.randn(0, 3, 40, 50))
    assert [tuple(one.shape) for one in maps] == [(0, 8, 10, 13), (0, 16, 5, 7)]
    sum(one.sum() for one in maps).backward()
    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())
