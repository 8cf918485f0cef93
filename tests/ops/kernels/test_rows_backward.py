"""Gradients of what happens to tokens one by one, beside autograd's in float64."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_tensors import DTYPES, RUNS, WIDTHS, assert_near, drawn, guarded

from swin_mm.ops.kernels import Branch, Input, NormTensors, gradient_rows

FUZZ = settings.get_profile("kernels")
KINDS, FLAGS = st.sampled_from(DTYPES), st.booleans()
ROWS = st.sampled_from([0, 1, 2, 3, 8, 41])

pytestmark = pytest.mark.usefixtures("level")


def a_norm(channels):
    return NormTensors(drawn(channels), drawn(channels), 1e-3)


def moments_of(x, norm):
    """As a forward pass keeps them."""
    mean = x.mean(1)
    share = ((x - mean[:, None]).square().mean(1) + norm.eps).rsqrt()
    return torch.stack([mean, share], dim=1).float()


def through(norm, x, gradient):
    """Gradients of what a norm was given, of its weight and its bias."""
    weight, bias = norm.weight.double().requires_grad_(), norm.bias.double().requires_grad_()
    x = x.clone().requires_grad_()
    return torch.autograd.grad(
        F.layer_norm(x, x.shape[-1:], weight, bias, norm.eps), [x, weight, bias], gradient
    )


@FUZZ
@given(
    ROWS,
    st.sampled_from(WIDTHS),
    st.tuples(KINDS, KINDS, KINDS, KINDS),
    st.lists(FLAGS, min_size=9, max_size=9),
    RUNS,
)
def test_gradients_pass_one_branch_and_go_into_the_next(threads, rows, channels, kinds, flags, run):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    picks, puts, gives, has_places, first, takes, drops, last, asks = flags
    above_kind, kind, x_kind, result_kind = kinds
    takes, gives = takes or not gives, gives or not takes
    above, source, target = drawn(rows + 3 * picks, channels, dtype=above_kind), None, None
    if picks:
        source = torch.randperm(rows + 3)[:rows]
    if puts:
        target = torch.randperm(rows)
    exact = (above if source is None else above[source]).double()
    wanted = [torch.ones(channels, dtype=torch.float64) for _ in range(5)]

    before = None
    if gives:
        many = rows + 2 * has_places
        places = torch.randperm(many)[:rows] if has_places else None
        gradient, x, norm = drawn(many, channels, dtype=kind), None, None
        own = (gradient if places is None else gradient[places]).double()
        if first:
            norm = a_norm(channels)
            x, index = drawn(rows + 4, channels, dtype=x_kind), torch.randint(rows + 4, (rows,))
            moments = torch.full((many, 2), float("nan"))  # padding has none
            moments[slice(rows) if places is None else places] = moments_of(x[index].double(), norm)
            own, *learned = through(norm, x[index].double(), own)
            wanted[:2] = (1 + one for one in learned)
            before = Input(gradient, places, norm, x, index, moments)
        else:
            before = Input(gradient, places)
        exact = exact + own

    branch, of_branch = None, exact
    if takes:
        bias, factor = drawn(channels), torch.rand(rows) if drops else None
        if drops:
            of_branch = of_branch * factor.double()[:, None]
        if last:
            norm, gave = a_norm(channels), drawn(rows, channels, dtype=kind)
            kept = moments_of(gave.double() + bias, norm)
            of_branch, *learned = through(norm, gave.double() + bias, of_branch)
            wanted[2:4] = (1 + one for one in learned)
            branch = Branch(gave, bias, factor, norm, kept)
        else:
            branch = Branch(None, bias, factor)
        wanted[4] = 1 + of_branch.sum(0)

    asked = [asks or place == 4 for place in range(5)]
    shape = (rows, channels)
    sums = [((channels,), torch.float32)] * 5
    with guarded((shape, result_kind), (shape, kind), *sums) as (result, found, *sums):
        for one in sums:
            one.fill_(1)
        gradient_rows(
            above,
            result,
            sums=[one if ask else None for one, ask in zip(sums, asked, strict=True)],
            source=source,
            target=target,
            given=before,
            branch=branch,
            found=found if takes else None,
        )
    assert_near(result if target is None else result[target], exact, relative=1e-4)
    if takes:
        assert_near(found, of_branch, relative=1e-4)
    for one, ask, total in zip(sums, asked, wanted, strict=True):
        assert_near(one, total if ask else torch.ones_like(total), relative=1e-4)


def learned_sums(rows=201, channels=17):
    """What rows sum up to, always the same."""
    torch.manual_seed(0)
    gradient, x, norm = drawn(rows, channels), drawn(rows, channels), a_norm(channels)
    sums = [torch.zeros(channels) for _ in range(5)]
    result, found = torch.empty(rows, channels), torch.empty(rows, channels)
    moments = moments_of(x.double(), norm)
    gradient_rows(
        torch.zeros(rows, channels),
        result,
        given=Input(gradient, None, norm, x, None, moments),
        branch=Branch(None, torch.zeros(channels)),
        found=found,
        sums=sums,
    )
    return [result, found, *sums]


def test_as_many_threads_sum_up_the_same_bit_for_bit(threads):
    by_number = []
    for number in (1, 2, 3, 300):
        threads(number)
        found = learned_sums()
        assert all(map(torch.equal, found, learned_sums()))
        by_number.append(found)
    for result, of_branch, *sums in by_number[1:]:  # rows are each thread's own
        assert torch.equal(result, by_number[0][0])
        assert torch.equal(of_branch, by_number[0][1])
        for one, alone in zip(sums, by_number[0][2:], strict=True):
            torch.testing.assert_close(one, alone, rtol=1e-4, atol=1e-4)


def test_what_is_no_number_stays_in_its_row_and_reaches_the_sums():
    above = drawn(5, 17)
    above[2, 16] = float("nan")
    above[3, 1] = float("inf")
    result, found, total = torch.empty(5, 17), torch.empty(5, 17), torch.zeros(17)
    gradient_rows(
        above, result, branch=Branch(None, torch.zeros(17)), found=found,
        sums=[None, None, None, None, total],
    )  # fmt: skip
    for one in (result, found):
        assert torch.equal(one.nan_to_num(9.0), above.nan_to_num(9.0))
    assert torch.equal(total.isnan(), above.sum(0).isnan())
    assert torch.equal(total.isinf(), above.sum(0).isinf())
