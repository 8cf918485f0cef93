"""GELU and its gradient beside torch's in float64."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_tensors import DTYPES, RUNS, WIDTHS, assert_near, drawn, guarded

from swin_mm.ops.kernels import gelu, gelu_backward

FUZZ = settings.get_profile("kernels")
CASES = (
    st.sampled_from([0, 1, 2, 3, 8, 41]),
    st.sampled_from(WIDTHS),
    st.sampled_from(DTYPES),
    RUNS,
)

pytestmark = pytest.mark.usefixtures("level")


@FUZZ
@given(*CASES, st.booleans())
def test_gelu_adds_the_bias_first(threads, rows, channels, dtype, run, in_place):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    x, bias = drawn(rows, channels, dtype=dtype) * 3, drawn(channels)
    exact = F.gelu(x.double() + bias)
    with guarded(((rows, channels), dtype)) as (result,):
        if in_place:
            result.copy_(x)
        gelu(result if in_place else x, bias, result)
    assert_near(result, exact, relative=1e-6, least=1)


@FUZZ
@given(*CASES, st.booleans())
def test_its_gradient_is_autograds(threads, rows, channels, dtype, run, sums_up):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    x, bias = drawn(rows, channels, dtype=dtype) * 3, drawn(channels)
    above, shape = drawn(rows, channels, dtype=dtype), (rows, channels)
    given = (x.double() + bias).requires_grad_()
    exact = F.gelu(given)
    (wanted,) = torch.autograd.grad(exact, given, above.double())
    with guarded((shape, dtype), (shape, dtype), ((channels,), torch.float32)) as found:
        result, gradient, total = found
        gradient.copy_(above)
        total.fill_(1)
        gelu_backward(x, bias, result=result, gradient=gradient, sums=total if sums_up else None)
    assert_near(result, exact.detach(), relative=1e-6, least=1)
    assert_near(gradient, wanted, relative=1e-6, least=1)
    assert_near(total, 1 + wanted.sum(0) * sums_up, relative=1e-5, least=1)


def test_it_is_right_everywhere_and_its_tail_fades_as_the_true_one_does():
    x = torch.linspace(-12, 12, 24_001)[:, None].contiguous()
    result = torch.empty_like(x)
    gelu(x, torch.zeros(1), result)
    exact = x.double() * torch.special.erfc(-x.double() / 2**0.5) / 2
    assert (result - exact).abs().max() < 6e-7  # torch's own 1e-6
    assert (result - exact)[x.abs() < 1].abs().max() < 2e-7
    tail = (x < -1) & (x > -9)
    assert ((result - exact)[tail] / exact[tail]).abs().max() < 0.02


@pytest.mark.parametrize("channels", [1, 7])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_no_number_stays_none_and_large_ones_stay_finite(dtype, channels):
    large = 3e38 if dtype == torch.float32 else 3.38e38
    x = torch.tensor([float("nan"), float("inf"), float("-inf"), large, -large, 0.0, -0.0] * 5)
    x = x.to(dtype).view(-1, channels)
    zeros, found = torch.zeros(channels), torch.empty_like(x)
    gelu(x, zeros, found)
    again, gradient = torch.empty_like(x), torch.ones_like(x)
    gelu_backward(x, zeros, result=again, gradient=gradient, sums=None)
    for one in (found, again):
        assert torch.equal(one.isfinite(), x.isfinite())
        assert one[x.isnan()].isnan().all()
        assert torch.equal(one[x.isfinite()], x[x.isfinite()].relu())
    finite = x.isfinite()
    slope = (x[finite].sign().relu() + (x[finite] == 0) / 2).to(dtype)
    torch.testing.assert_close(gradient[finite], slope, rtol=1e-6, atol=0)
    assert not gradient[x.isnan() | x.isinf()].isfinite().any()


def test_as_many_threads_sum_up_the_same_bit_for_bit(threads):
    x, bias, above, alone = drawn(201, 17), drawn(17), drawn(201, 17), None
    for number in (1, 2, 3, 300):
        threads(number)
        found = []
        for _ in range(2):
            result, gradient, total = torch.empty_like(x), above.clone(), torch.zeros(17)
            gelu_backward(x, bias, result=result, gradient=gradient, sums=total)
            found.append((result, gradient, total))
        assert all(map(torch.equal, *found))
        alone = alone or found[0]
        assert all(map(torch.equal, found[0][:2], alone[:2]))
        torch.testing.assert_close(found[0][2], alone[2], rtol=1e-4, atol=1e-4)
