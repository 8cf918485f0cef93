import math

import pytest
import torch

from swin_mm.ops.attention import scaled_cosines, window_attention

HALVES = [torch.float16, torch.bfloat16]


def tokens(dtype=torch.float32, size=(5, 2, 6, 4)):
    return [torch.randn(size).to(dtype) for _ in range(3)]


def test_products_are_cosines_by_the_heads_factor():
    q, k, _ = tokens()
    logit_scale = torch.tensor([0.3, 1.2]).view(2, 1, 1)
    a, b = scaled_cosines(q, k, logit_scale)
    expected = torch.cosine_similarity(q[..., :, None, :], k[..., None, :, :], dim=-1)
    torch.testing.assert_close(a @ b.transpose(-2, -1), expected * logit_scale.exp())


def test_the_factor_is_100_at_most():
    q, k, _ = tokens()
    high, highest = (
        scaled_cosines(q, k, torch.full((2, 1, 1), scale))[0] for scale in (math.log(100), 9.0)
    )
    torch.testing.assert_close(high, highest)
    assert high.norm(dim=-1).max().item() == pytest.approx(100, rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
def test_zeros_stay_zeros_with_a_finite_gradient(dtype):
    q, k, v = (t.requires_grad_() for t in tokens(dtype))
    with torch.no_grad():
        k[1:3].zero_()
        q[2].zero_()
    a, b = scaled_cosines(q, k, torch.full((2, 1, 1), 4.6))
    assert not b[1:3].any()
    window_attention(a, b, v, scale=1.0, backend="reference").square().sum().backward()
    assert all(t.grad.isfinite().all() for t in (q, k, v))


@pytest.mark.parametrize("length", [1e-6, 1e3, 6e4])
def test_short_and_long_vectors_of_half_precision_come_out_at_length_1(length):
    q = torch.full((1, 1, 1, 1), length, dtype=torch.float16)
    a, b = scaled_cosines(q, -q, torch.zeros(1, 1, 1))
    assert (a.item(), b.item()) == pytest.approx((1, -1))


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("backend", ["reference", "sdpa"])
@pytest.mark.parametrize("dtype", HALVES)
def test_scores_are_float32_where_values_are_half(dtype, backend, autocast):
    q, k, v = tokens(dtype)
    logit_scale = torch.full((2, 1, 1), 4.6)  # rounded cosines would show
    bias = torch.randn(2, 6, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        a, b = scaled_cosines(q, k, logit_scale)
        assert a.dtype == b.dtype == torch.float32
        out = window_attention(a, b, v, bias=bias, scale=1.0, backend=backend)
    assert out.dtype == dtype
    a, b = scaled_cosines(q.double(), k.double(), logit_scale.double())
    exact = (a @ b.transpose(-2, -1) + bias).softmax(-1) @ v.double()
    # Rounding of the weights and of the result alone.
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=8 * torch.finfo(dtype).eps)


def test_cosines_keep_the_precision_of_wider_tokens():
    q, k, _ = tokens(torch.float64)
    assert scaled_cosines(q, k, torch.zeros(2, 1, 1))[0].dtype == torch.float64
