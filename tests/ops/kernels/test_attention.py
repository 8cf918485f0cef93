"""The kernel of attention beside float64."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_attention import Case, a_case, exact_attention
from kernel_tensors import DTYPES, RUNS, assert_near, guarded

from swin_mm.ops.kernels.attention import padded_table

FUZZ = settings.get_profile("kernels")
TOKENS, HEAD = (1, 4, 6, 8, 15, 16, 17, 40, 49, 70), (1, 5, 8, 16, 17, 32, 40, 70)

pytestmark = pytest.mark.usefixtures("level")


def attend(case, *, dtype=None):
    """What the kernel gives, and nothing beside it is written."""
    shape = (case.rows, case.qkv.shape[1] // 3)
    with guarded((shape, dtype or case.qkv.dtype)) as (result,):
        case.kernel().forward(case.qkv, result, masks=case.tables, places=case.places)
    return result


def exact(case):
    return exact_attention(case, case.tensors()).detach()


CASES = {
    "tokens": st.sampled_from(TOKENS),
    "heads": st.integers(1, 3),
    "channels": st.sampled_from(HEAD),
    "dtype": st.sampled_from(DTYPES),
    "cosine": st.booleans(),
    "padded": st.booleans(),
    "windows": st.sampled_from([(1,), (3,), (1, 1), (2, 1, 2), (1, 3, 1)]),
}


@FUZZ
@given(st.fixed_dictionaries(CASES), RUNS)
def test_windows_attend(threads, made_of, run):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    case = a_case(**made_of)
    assert_near(attend(case), exact(case))


@FUZZ
@given(st.fixed_dictionaries(CASES), RUNS)
def test_gradients_are_autograds(threads, made_of, run):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    case = a_case(**made_of)
    tensors, dtype = case.tensors(), case.qkv.dtype
    out = exact_attention(case, tensors)
    above = torch.randn(out.shape).to(dtype)
    of_qkv, *learned = torch.autograd.grad(out, tensors, above.double())
    kernel = case.kernel()
    for times in (1, 2):  # sums grow by every call, until they are given away
        for _ in range(times):
            with guarded((case.qkv.shape, dtype)) as (result,):
                kernel.backward(case.qkv, above, result, masks=case.tables, places=case.places)
            assert_near(result, of_qkv, relative=1e-4, least=1e-1)
        for ours, one in zip(kernel.sums(), learned, strict=False):
            assert_near(ours, times * one, relative=1e-4, least=1)


def test_nothing_was_summed_up_where_no_window_came():
    case = a_case(6, 2, 5, cosine=True)
    sums = case.kernel().sums()
    assert [tuple(one.shape) for one in sums] == [(2, 6, 6), (30,), (2, 1, 1)]
    assert not any(one.any() for one in sums)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cosine", [False, True])
def test_as_many_threads_give_the_same_bit_for_bit(cosine, dtype, threads):
    """Also where they are more than windows and heads, 2 x 5."""
    case, alone = a_case(17, 2, 8, cosine=cosine, padded=True, dtype=dtype), None
    above = torch.randn(case.rows, 16).to(dtype)
    for number in (1, 2, 3, 4, 7, 64):
        threads(number)
        found = []
        for _ in range(2):
            kernel, result = case.kernel(), torch.empty_like(case.qkv)
            kernel.backward(case.qkv, above, result, masks=case.tables, places=case.places)
            found.append([attend(case), result, *kernel.sums()])
        assert all(map(torch.equal, *found))
        alone = alone or found[0]
        assert all(map(torch.equal, found[0][:2], alone[:2]))  # of each window and head alone
        for one, other in zip(found[0][2:], alone[2:], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spoiled", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("part", ["queries", "keys", "values"])
@pytest.mark.parametrize("cosine", [False, True])
def test_what_is_no_number_stays_in_its_window_and_goes_where_torch_lets_it(cosine, part, spoiled):
    case = a_case(6, 2, 5, cosine=cosine)
    case.qkv[:, 3] = torch.tensor([-3.0, 3.0]).repeat(15)  # of both signs, whatever its bias
    case.given[3] = 0
    case.qkv[8, 10 * ("queries", "keys", "values").index(part) + 3] = spoiled  # window 1, head 0
    found, wanted = attend(case), exact(case)
    assert torch.equal(found.isfinite(), wanted.isfinite())
    assert torch.equal(found.isnan(), wanted.isnan())
    bad = ~found.isfinite()
    assert bad.any() and not bad[:6].any() and not bad[12:].any() and not bad[:, 5:].any()
    good = wanted.isfinite()
    assert_near(found[good], wanted[good])


@pytest.mark.parametrize("spoiled", [float("nan"), float("inf")])
def test_a_gradient_that_is_no_number_spoils_no_other_window(spoiled):
    case = a_case(6, 2, 5)
    above, result, kernel = torch.randn(30, 10), torch.empty_like(case.qkv), case.kernel()
    above[8, 3] = spoiled
    kernel.backward(case.qkv, above, result, masks=case.tables, places=None)
    bad = ~result.isfinite()
    assert bad[6:12].any() and not bad[:6].any() and not bad[12:].any()
    of_bias, of_given, _ = kernel.sums()
    assert not of_bias[0].isfinite().all() and of_bias[1].isfinite().all()
    assert not of_given.isfinite().all()


def test_scores_of_minus_infinity_give_their_keys_nothing():
    case = a_case(9, 2, 5)
    case.bias[:, :, 4] = float("-inf")
    found = attend(case)
    assert_near(found, exact(case))
    case.qkv[4::9, 20:] += 100  # their values
    assert torch.equal(attend(case), found)


def test_a_query_that_may_look_at_no_key_gets_what_torch_gives():
    case = a_case(9, 2, 5)
    case.bias[1, 3] = float("-inf")
    found, wanted = attend(case), exact(case)
    assert torch.equal(found.isnan(), wanted.isnan())
    assert found[3::9, 5:].isnan().all() and int(found.isnan().sum()) == 25


@pytest.mark.parametrize("dtype", DTYPES)
def test_queries_a_thousand_times_too_large_find_their_keys(dtype):
    """Whole numbers, whose products are exact: what is left is the softmax."""
    case = a_case(17, 2, 8, dtype=dtype)
    case.qkv[:, :32] = torch.randint(-3, 4, (85, 32))
    case.qkv[:, :16] *= 1024
    case.given[:32], case.bias, case.scale = 0, case.bias.round(), 0.5
    assert_near(attend(case), exact(case))


def test_zeros_have_no_direction_and_finite_gradients():
    case = a_case(6, 2, 5, cosine=True)
    case.given[:20] = 0
    case.qkv[::4, :20] = 0
    case.qkv[1::4, :20] = 1e-14
    tensors = case.tensors()
    out = exact_attention(case, tensors)
    assert_near(attend(case), out.detach())
    above, result, kernel = torch.randn(30, 10), torch.empty_like(case.qkv), case.kernel()
    kernel.backward(case.qkv, above, result, masks=case.tables, places=None)
    assert_near(result, torch.autograd.grad(out, tensors, above.double())[0], relative=1e-4)


def test_the_exponential_is_right_over_its_whole_range():
    """Two keys of values 0 and 1, of which the second loses by 0 to 87: 1 / (1 + e^s)."""
    loss = torch.linspace(0, 87, 2000)
    bias = torch.zeros(2000, 2, 2)
    bias[:, :, 1] = -loss[:, None]
    qkv = torch.zeros(2, 3 * 2000)
    qkv[1, 4000:] = 1
    case = Case(qkv, torch.zeros(6000), bias, None, [(1, None)])
    found = attend(case)
    exact = torch.sigmoid(-loss.double())
    assert ((found - exact).abs() / exact).max() < 5e-7
    case.bias[:, :, 1] = -88.0  # no normal float32
    assert not attend(case).any()


def test_tables_have_rows_of_whole_vectors_that_end_in_minus_infinity(level):
    lanes = {"avx512": 16, "avx2": 8}[level]
    for tokens, row in ((1, lanes), (lanes, lanes), (lanes + 1, 2 * lanes)):
        scores = torch.randn(2, tokens, tokens).bfloat16()
        table = padded_table(scores)
        assert table.shape == (2, tokens, row)
        assert table.dtype == torch.float32
        assert table.is_contiguous()
        assert torch.equal(table[..., :tokens], scores.float())
        assert (table[..., tokens:] == float("-inf")).all()


@pytest.mark.parametrize("tokens", range(1, 80, 6))
@pytest.mark.parametrize("mirrored", [False, True])
def test_every_number_of_vectors_and_rows_has_its_tile(tokens, mirrored):
    """Products go by tiles of some rows and vectors; what is left over has tiles of its own."""
    case = a_case(80 - tokens if mirrored else tokens, 1, tokens, windows=(1,))
    assert_near(attend(case), exact(case))
