import pytest
import torch

from swin_mm.ops.attention import choose_backend, window_attention

BACKENDS = ["reference", "sdpa"]


def tokens(dtype=torch.float32, size=(5, 2, 6, 4)):
    return [torch.randn(size).to(dtype).requires_grad_() for _ in range(3)]


def definition(q, k, v, bias, mask, scale):
    q, k, v = (t.double() for t in (q, k, v))
    scores = torch.einsum("whnd,whmd->whnm", q, k) * scale + bias.double()
    weights = scores.exp() * mask
    return torch.einsum("whnm,whmd->whnd", weights / weights.sum(-1, keepdim=True), v)


@pytest.mark.parametrize("per_window", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_equal_the_definition(backend, per_window):
    q, k, v = tokens()
    bias = torch.randn(2, 6, 6)
    mask = torch.rand(*((5, 1) if per_window else ()), 6, 6) > 0.5
    mask |= torch.eye(6, dtype=torch.bool)
    out = window_attention(q, k, v, bias=bias, mask=mask, scale=0.3, backend=backend)
    torch.testing.assert_close(out, definition(q, k, v, bias, mask, 0.3).float())


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_scale_is_that_of_the_paper_where_none_is_given(backend):
    q, k, v = tokens()
    everything = torch.ones(6, 6, dtype=torch.bool)
    out = window_attention(q, k, v, backend=backend)
    expected = definition(q, k, v, torch.zeros(2, 6, 6), everything, 4**-0.5)
    torch.testing.assert_close(out, expected.float())


def test_backends_have_the_same_gradients():
    mask = torch.tensor([[True, False], [True, True]])
    gradients = []
    for backend in BACKENDS:
        torch.manual_seed(0)
        q, k, v = tokens(size=(3, 2, 2, 4))
        bias = torch.randn(2, 2, 2, requires_grad=True)
        out = window_attention(q, k, v, bias=bias, mask=mask, backend=backend)
        out.mul(torch.randn(out.shape)).sum().backward()
        gradients.append([t.grad for t in (q, k, v, bias)])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("dropout", [0.0, 1e-9])
@pytest.mark.parametrize("values", [None, torch.float16])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("backend", BACKENDS)
def test_huge_scores_choose_the_same_keys_in_half_precision(backend, dtype, values, dropout):
    q, k, v = (t.detach() for t in tokens(torch.float64, size=(50, 2, 16, 8)))
    q, k, v = (1e3 * q).to(dtype), (1e3 * k).to(dtype), v.to(values or dtype)
    bias, mask = torch.randn(2, 16, 16).to(dtype), torch.ones(16, 16, dtype=torch.bool).tril()
    out = window_attention(q, k, v, bias=bias, mask=mask, dropout=dropout, backend=backend)
    scores = q.double() @ k.double().mT * 8**-0.5 + bias.double()
    exact = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v.double()
    assert out.dtype == v.dtype
    assert (out.double() - exact).abs().max() < 1e-2  # a rounded score would let others win


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("backend", BACKENDS)
def test_huge_scores_have_finite_gradients(backend, dtype):
    q, k, v = (t.detach().requires_grad_() for t in tokens(dtype))
    out = window_attention(q * 1e3, k * 1e3, v, bias=torch.randn(2, 6, 6), backend=backend)
    gradients = torch.autograd.grad(out.sum(), (q, k, v))
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("backend", BACKENDS)
def test_dropout_drops_weights(backend):
    q, k, v = (t.detach() for t in tokens(size=(8, 2, 6, 4)))
    torch.manual_seed(0)
    dropped = window_attention(q, k, v, dropout=0.5, backend=backend)
    assert not torch.allclose(dropped, window_attention(q, k, v, backend=backend))


def test_a_bias_that_learns_takes_the_reference_and_any_other_the_fused_kernel():
    q, *_ = tokens()
    learning = torch.zeros(2, 6, 6, requires_grad=True)
    assert choose_backend(q, learning) == "reference"
    assert choose_backend(q, learning.detach()) == "sdpa"
    assert choose_backend(q, None) == "sdpa"
    assert choose_backend(q.to("meta"), None) == "reference"
    with torch.no_grad():
        assert choose_backend(q, learning) == "sdpa"


def test_the_fused_kernel_is_fused():
    """Torch falls back in silence, for one to a bias of three dimensions (2.13, CPU)."""
    q, k, v = (t.detach() for t in tokens())
    with torch.profiler.profile() as profile:
        window_attention(q, k, v, bias=torch.randn(2, 6, 6), backend="sdpa")
    assert any("flash" in event.key for event in profile.key_averages())


def test_an_unknown_backend_is_named():
    with pytest.raises(ValueError, match=r"backend must be one of .* got 'flash'"):
        window_attention(*tokens(), backend="flash")
