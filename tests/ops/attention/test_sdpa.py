import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from swin_mm.ops.attention import sdpa, window_attention


class LargestTensor(TorchDispatchMode):
    """Note the most elements of any tensor that an operator makes anew."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else [out]:
            if isinstance(one, torch.Tensor):
                self.elements = max(self.elements, one.untyped_storage().size() // one.itemsize)
        return out


def arguments(windows=7, heads=2, tokens=9, d=4):
    torch.manual_seed(0)
    q, k, v = (torch.randn(windows, heads, tokens, d, requires_grad=True) for _ in range(3))
    return q, k, v, torch.randn(heads, tokens, tokens, requires_grad=True)


def a_mask(kind, windows=7, tokens=9):
    if kind is None:
        return None
    shape = (tokens, tokens) if kind == "shared" else (windows, 1, tokens, tokens)
    return (torch.rand(shape) > 0.5) | torch.eye(tokens, dtype=torch.bool)


def results(mask, backend):
    q, k, v, bias = arguments()
    out = window_attention(q, k, v, bias=bias, mask=mask, backend=backend)
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    return out, *torch.autograd.grad((out * weights).sum(), (q, k, v, bias))


@pytest.mark.parametrize("kind", [None, "shared", "one a window"])
def test_windows_taken_some_at_a_time_give_the_same_result_and_gradients(monkeypatch, kind):
    mask = a_mask(kind)
    expected = results(mask, "reference")
    monkeypatch.setattr(sdpa, "_windows_at_once", lambda q, bias: 3)
    for got, wanted in zip(results(mask, "sdpa"), expected, strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_bias_that_learns_never_has_a_gradient_of_every_window_off_the_cpu(monkeypatch):
    windows, heads, tokens = 64, 2, 16
    monkeypatch.setattr(sdpa, "SCORES", 8 * heads * tokens**2)
    q, k, v = (torch.randn(windows, heads, tokens, 1, device="meta") for _ in range(3))
    bias = torch.zeros(heads, tokens, tokens, device="meta", requires_grad=True)
    q.requires_grad_()
    with LargestTensor() as largest:
        window_attention(q, k, v, bias=bias, backend="sdpa").sum().backward()
    assert largest.elements == 8 * heads * tokens**2


@pytest.mark.parametrize("learns", [False, True])
def test_no_call_off_the_cpu_has_more_windows_than_a_grid_of_cuda(learns):
    q = torch.empty(70_000, 1, 4, 4, device="meta")
    bias = torch.zeros(1, 4, 4, device="meta", requires_grad=learns)
    assert sdpa._windows_at_once(q, bias) == 65_535
    assert sdpa._windows_at_once(q[:65_535], bias) is None
    assert sdpa._windows_at_once(torch.empty(70_000, 1, 1, 1), None) is None


def test_nothing_is_divided_where_it_need_not_be():
    q = torch.empty(100, 3, 49, 32, device="meta")
    bias = torch.zeros(3, 49, 49, device="meta", requires_grad=True)
    assert sdpa._windows_at_once(q, bias) is None
    with torch.no_grad():
        assert sdpa._windows_at_once(torch.empty(60_000, 3, 49, 32, device="meta"), bias) is None


@pytest.mark.parametrize("tokens", [1, 7, 8, 49, 64])
def test_an_aligned_bias_has_its_values_and_gradient_and_rows_at_multiples_of_8(tokens):
    bias = torch.randn(2, tokens, tokens, requires_grad=True)
    laid_out = sdpa.aligned(bias[None])
    assert torch.equal(laid_out[0], bias)
    assert all(stride % 8 == 0 for stride in laid_out.stride()[1:-1])
    assert laid_out.stride(-1) == 1
    weights = torch.randn(bias.shape)
    assert torch.equal(torch.autograd.grad((laid_out[0] * weights).sum(), bias)[0], weights)


def test_off_the_cpu_the_kernel_is_given_an_aligned_bias_of_the_queries_dtype(monkeypatch):
    q, k, v, bias = (one.detach().to("meta", torch.float16) for one in arguments())
    given = []
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda *args, **rest: given.append(rest["attn_mask"]) or real(*args, **rest),
    )
    window_attention(q, k, v, bias=bias.float(), backend="sdpa")
    assert given[0].shape == (1, 2, 9, 9)
    assert given[0].dtype == torch.float16
    assert given[0].stride()[1:] == (9 * 16, 16, 1)


@pytest.mark.parametrize("of_bias", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_bias_may_be_of_another_dtype(dtype, of_bias):
    q, k, v, bias = (t.detach().double() for t in arguments(tokens=16))
    bias = bias.half().double()
    expected = window_attention(q, k, v, bias=bias, backend="reference")
    q, k, v = (t.to(dtype) for t in (q, k, v))
    got = window_attention(q, k, v, bias=bias.to(of_bias), backend="sdpa")
    bound = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(got.double(), expected, rtol=bound, atol=bound)
