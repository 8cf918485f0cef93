"""Kernels over tokens beside torch's operators in float64."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_tensors import DTYPES, RUNS, WIDTHS, assert_near, drawn, guarded

from swin_mm.ops.kernels import Branch, NormTensors, add_branch, take_normed

FUZZ = settings.get_profile("kernels")
KINDS, FLAGS = st.sampled_from(DTYPES), st.booleans()
ROWS = st.sampled_from([0, 1, 2, 3, 8, 41])
CHANNELS = st.sampled_from(WIDTHS)

pytestmark = pytest.mark.usefixtures("level")


def a_norm(channels, eps=1e-3):
    return NormTensors(drawn(channels), drawn(channels), eps)


def normed(x, norm):
    """In float64."""
    return F.layer_norm(x, x.shape[-1:], norm.weight.double(), norm.bias.double(), norm.eps)


def moments_of(x, eps):
    """Mean and 1 / deviation of rows, in float64."""
    mean = x.mean(1)
    return torch.stack([mean, ((x - mean[:, None]).square().mean(1) + eps).rsqrt()], dim=1)


@FUZZ
@given(ROWS, CHANNELS, KINDS, KINDS, FLAGS, FLAGS, RUNS)
def test_rows_are_taken_and_normed(threads, rows, channels, kind, wanted, norms, keep, run):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    x, index = drawn(11, channels, dtype=kind), torch.randint(-1, 11, (rows,))
    norm, kept = a_norm(channels) if norms else None, [((rows, 2), torch.float32)] * keep
    with guarded(((rows, channels), wanted), *kept) as (result, *moments):
        take_normed(x, index, result, norm=norm, moments=moments[0] if keep else None)
    exact, real = x.double()[index.clamp(min=0)], index >= 0
    assert_near(result[real], (normed(exact, norm) if norms else exact)[real])
    assert not result[~real].any()
    if keep and norms:
        assert_near(moments[0][real], moments_of(exact, norm.eps)[real])
        assert not moments[0][~real].any()


@FUZZ
@given(
    ROWS, CHANNELS, st.tuples(KINDS, KINDS, KINDS), st.lists(FLAGS, min_size=6, max_size=6),
    RUNS,
)  # fmt: skip
def test_a_branch_is_added_and_what_the_next_is_given_normed(
    threads, rows, channels, kinds, flags, run
):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    picks, puts, drops, last, gives, next_norm = flags
    x, branch = drawn(rows + 3, channels, dtype=kinds[0]), drawn(rows, channels, dtype=kinds[2])
    bias = drawn(channels)
    source = torch.randperm(rows + 3)[:rows] if picks else None
    target = torch.randperm(rows) if puts else None
    factor = torch.rand(rows) if drops else None
    first, second = a_norm(channels) if last else None, a_norm(channels) if next_norm else None
    shape = (rows, channels)
    tensors = [(shape, kinds[1]), (shape, kinds[2]), *2 * [((rows, 2), torch.float32)]]
    with guarded(*tensors) as (total, given, last_moments, moments):
        add_branch(
            x,
            Branch(branch, bias, factor, first, last_moments if last else None),
            total,
            source=source,
            target=target,
            norm=second,
            given=given if gives else None,
            moments=moments if gives and next_norm else None,
        )
    own = branch.double() + bias
    if last:
        assert_near(last_moments, moments_of(own, first.eps))
        own = normed(own, first)
    exact = (x[:rows] if source is None else x[source]).double()
    exact = exact + (own if factor is None else own * factor.double()[:, None])
    assert_near(total if target is None else total[target], exact)
    if gives:
        assert_near(given, normed(exact, second) if next_norm else exact)
    if gives and next_norm:
        assert_near(moments, moments_of(exact, second.eps), relative=1e-4)


def test_tokens_may_be_summed_where_they_lie():
    x, branch, bias = drawn(5, 17), drawn(5, 17), drawn(17)
    exact = x.double() + branch + bias
    add_branch(x, Branch(branch, bias), x)
    assert_near(x, exact)


def test_float32_is_rounded_to_bfloat16_as_torch_rounds_it():
    """To the nearest, ties to even: all upper halves, with what is just below a tie, and above."""
    upper = torch.arange(2**16, dtype=torch.int64) << 16
    bits = torch.stack([upper + lower for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)], dim=1)
    x = torch.where(bits < 2**31, bits, bits - 2**32).int().view(torch.float32)
    result = torch.empty_like(x, dtype=torch.bfloat16)
    take_normed(x, torch.arange(2**16), result, norm=None, moments=None)
    wanted = x.bfloat16()
    assert torch.equal(result.isnan(), x.isnan())
    assert torch.equal(result.nan_to_num(), wanted.nan_to_num())


def test_bfloat16_is_read_without_loss():
    x = torch.arange(-(2**15), 2**15).short().view(torch.bfloat16).view(-1, 16)
    result = torch.empty(x.shape)
    take_normed(x, torch.arange(len(x)), result, norm=None, moments=None)
    assert torch.equal(result.view(torch.int32), x.view(torch.int16).int() << 16)


def test_what_is_no_number_stays_in_its_row_as_in_torch():
    x = drawn(6, 17)
    x[1, 3], x[2, 16], x[3, 0] = float("nan"), float("inf"), float("-inf")
    norm, result = a_norm(17), torch.empty(6, 17)
    take_normed(x, torch.arange(6), result, norm=norm, moments=None)
    assert result.isnan().any(1).tolist() == [False, True, True, True, False, False]
    assert torch.equal(result.isnan(), F.layer_norm(x, (17,), norm.weight, norm.bias).isnan())
    total = torch.empty_like(x)
    add_branch(x, Branch(torch.zeros_like(x), torch.zeros(17)), total)
    assert torch.equal(total.nan_to_num(5.0), x.nan_to_num(5.0))


@pytest.mark.parametrize("channels", [1, 5, 16, 49])
@pytest.mark.parametrize("value", [0.0, 0.1, -33.3, 1e-20])
def test_a_row_of_one_number_is_normed_to_the_bias(channels, value):
    x, norm = torch.full((3, channels), value), a_norm(channels, eps=1e-5)
    result, moments = torch.empty_like(x), torch.empty(3, 2)
    take_normed(x, torch.arange(3), result, norm=norm, moments=moments)
    torch.testing.assert_close(result, norm.bias.expand_as(result), atol=2e-3, rtol=0)
    torch.testing.assert_close(moments[:, 1], torch.full((3,), 1e-5**-0.5))


@pytest.mark.parametrize("mean", [100.0, -3000.0])
def test_a_mean_far_from_zero_costs_no_more_than_in_torch(mean):
    x, norm = mean + drawn(200, 49), a_norm(49, eps=1e-5)
    result = torch.empty_like(x)
    take_normed(x, torch.arange(200), result, norm=norm, moments=None)
    exact = normed(x.double(), norm)
    torchs = F.layer_norm(x, (49,), norm.weight, norm.bias, norm.eps)
    assert (result - exact).abs().max() <= 2 * (torchs - exact).abs().max() + 1e-6


def test_norms_of_large_and_small_numbers_are_finite():
    x = torch.cat([drawn(4, 33) * scale for scale in (1e-30, 1e-10, 1e10, 1e18)])
    result, norm = torch.empty_like(x), a_norm(33)
    take_normed(x, torch.arange(16), result, norm=norm, moments=None)
    assert_near(result, normed(x.double(), norm))


@pytest.mark.parametrize("channels", [5, 96, 97])
@pytest.mark.parametrize("value", [12345.67, -3e6, 1e-3])
def test_a_row_of_one_value_is_normed_to_the_bias(channels, value):
    """However large it is: the mean's rounding must not be taken for a deviation."""
    norm, x = a_norm(channels, eps=1e-5), torch.full((3, channels), value)
    result, moments = torch.empty_like(x), torch.empty(3, 2)
    take_normed(x, torch.arange(3), result, norm=norm, moments=moments)
    torch.testing.assert_close(result, norm.bias.expand_as(x), rtol=0, atol=1e-3)
    torch.testing.assert_close(moments[:, 0], x[:, 0], rtol=1e-7, atol=0)
