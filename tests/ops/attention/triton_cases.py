"""What :mod:`test_triton_backend` runs in a process of its own.

Whether Triton interprets its kernels is decided as it is imported, which other tests may have done.
"""

import pytest
import torch
from random_weights import randomise

import swin_mm
from swin_mm.ops.attention import choose_backend, prefer_attention, window_attention
from swin_mm.ops.attention import triton_backend as backend_module

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = {  # windows, heads, tokens, channels; the interpreter is slow by the window
    "7 x 7": (2, 1, 49, 32),
    "more windows than programs": (5, 2, 9, 16),
    "3 x 2, odd heads": (2, 2, 6, 5),
    "12 x 12": (1, 1, 144, 8),
    "16 x 16": (1, 1, 256, 64),
}


@pytest.fixture(autouse=True)
def few_programs(monkeypatch):
    monkeypatch.setattr(backend_module, "PROGRAMS", 4)


def results(backend, size, *, dtype=torch.float32, has_bias=True, has_mask=True, values=None):
    """Compute a result and all gradients, the reference in float64."""
    windows, heads, tokens, channels = size
    torch.manual_seed(0)
    exact = backend == "reference"
    qkv = torch.randn(windows, tokens, 3, heads, channels, dtype=dtype).to(DEVICE)
    bias = torch.randn(heads, tokens, tokens).to(DEVICE) if has_bias else None
    mask = torch.rand(tokens, tokens) > 0.5 if has_mask else None
    mask = mask.fill_diagonal_(True).to(DEVICE) if has_mask else None
    weights = torch.randn(windows, tokens, heads, channels, dtype=torch.float64).to(DEVICE)
    learned = [qkv] if bias is None else [qkv, bias]
    learned = [(one.double() if exact else one).requires_grad_() for one in learned]
    q, k, v = learned[0].permute(2, 0, 3, 1, 4)
    v = v if values is None or exact else v.to(values)
    out = window_attention(
        q, k, v, bias=learned[1] if has_bias else None, mask=mask, scale=0.3, backend=backend
    )
    loss = (out.double() * weights.transpose(1, 2)).sum()
    return [out, *torch.autograd.grad(loss, learned)]


def assert_equal(size, *, tolerance=2e-6, **given):
    both = (results(backend, size, **given) for backend in ("triton", "reference"))
    for ours, exact in zip(*both, strict=True):
        assert (ours.double() - exact).abs().max() <= tolerance * exact.abs().max()


@pytest.mark.parametrize("size", SIZES)
def test_results_and_gradients_are_those_of_the_reference(size):
    assert_equal(SIZES[size])


@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_bias_and_mask_may_be_missing(has_bias, has_mask):
    assert_equal((2, 1, 9, 8), has_bias=has_bias, has_mask=has_mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_that_of_rounding(dtype):
    assert_equal((2, 1, 9, 16), dtype=dtype, tolerance=4 * torch.finfo(dtype).eps)


def test_values_may_be_narrower_than_queries():
    assert_equal((2, 1, 9, 16), values=torch.float16, tolerance=4 * torch.finfo(torch.float16).eps)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_huge_scores_choose_the_same_keys_in_half_precision(dtype):
    q, k, v = (torch.randn(4, 1, 9, 16, device=DEVICE).to(dtype) for _ in range(3))
    q, k = (1e3 * q).requires_grad_(), (1e3 * k).requires_grad_()
    out = window_attention(q, k, v, backend="triton")
    exact = (q.double() @ k.double().mT / 4).softmax(-1) @ v.double()
    assert (out.double() - exact).abs().max() < 1e-2
    assert all(one.isfinite().all() for one in torch.autograd.grad(out.sum(), (q, k)))


def test_a_window_of_very_low_scores_has_finite_gradients():
    q, k, v = (torch.randn(2, 1, 9, 16, device=DEVICE, requires_grad=True) for _ in range(3))
    bias = torch.full((1, 9, 9), -1e4, device=DEVICE, requires_grad=True)
    window_attention(q, k, v, bias=bias, backend="triton").sum().backward()
    assert all(one.grad.isfinite().all() for one in (q, k, v, bias))


def test_the_bias_gradient_is_summed_without_one_for_every_window(monkeypatch):
    made, empty = [], torch.empty

    def watched(*shape, **rest):
        made.append(shape)
        return empty(*shape, **rest)

    monkeypatch.setattr(torch, "empty", watched)
    results("triton", (5, 2, 9, 8))
    assert [shape for (shape, *_) in made if isinstance(shape, tuple)] == [(2, 2, 9, 9)]


def test_where_it_cannot_run_the_error_says_why():
    q = torch.randn(2, 1, 4, 4, device=DEVICE)
    with pytest.raises(ValueError, match=r"cannot run here: has no dropout; backend=\"auto\" can"):
        window_attention(q, q, q, dropout=0.5, backend="triton")


@pytest.mark.parametrize("swin", [swin_mm.SwinTransformer, swin_mm.SwinTransformerV2])
def test_a_network_trains_with_it_as_with_the_reference(swin, monkeypatch):
    net = randomise(
        swin(
            embed_dims=8,
            depths=(2,),
            num_heads=(1,),
            strides=(4,),
            out_indices=(0,),
            window_size=4,
            drop_path_rate=0.0,
        )
    ).to(DEVICE)
    for block in net.stages[0].blocks:  # watched, it does not take the CPU's own way
        block.attn.register_forward_hook(lambda *_: None)
    launched = []
    real = backend_module._Launch.__call__
    monkeypatch.setattr(
        backend_module._Launch,
        "__call__",
        lambda self, *args, **rest: launched.append(1) or real(self, *args, **rest),
    )
    x, found = torch.rand(1, 3, 20, 20, device=DEVICE), {}
    for backend in ("triton", "reference"):
        with prefer_attention(backend):
            out = net(x)[0]
            found[backend] = [out, *torch.autograd.grad(out.square().sum(), net.parameters())]
    assert len(launched) == 3 * 5  # one region of the plain block, four of the shifted one
    for ours, theirs in zip(*found.values(), strict=True):
        torch.testing.assert_close(
            ours, theirs, rtol=1e-4, atol=1e-5 * theirs.detach().abs().max().item()
        )


def test_auto_does_not_take_it_unasked():
    q = torch.randn(2, 1, 4, 16, device=DEVICE)
    bias = torch.zeros(1, 4, 4, device=DEVICE, requires_grad=True)
    assert choose_backend(q, bias) != "triton"
    with prefer_attention("triton"):
        assert choose_backend(q, bias) == "triton"
