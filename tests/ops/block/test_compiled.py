"""A block by compiled kernels, and its gradient, beside the reference and autograd in float64."""

import math
import statistics
from dataclasses import replace

import pytest
import torch
from random_weights import worst_difference

from swin_mm.ops.block import (
    BlockWeights,
    GradientSums,
    KernelBlock,
    KernelKept,
    LinearWeights,
    MapPlaces,
    NormWeights,
    WindowBatch,
    block_backward,
    block_forward,
    can_run_kernels,
    reference_block,
)
from swin_mm.ops.kernels.attention import padded_table

pytestmark = pytest.mark.usefixtures("kernels")

C, HIDDEN, HEADS, N, WINDOWS = 12, 20, 2, 6, 5
AREA = 40
"""Rows of the map, of which 30 at most are in the windows."""


def weights(*, post_norm=False, cosine=False, biases=True, affine=True):
    """What a block learns, in float32."""

    def linear(out, given):
        weight = torch.randn(out, given) / given**0.5
        return LinearWeights(weight, torch.randn(out) if biases else None)

    def norm():
        return NormWeights(*(torch.randn(2, C).unbind() if affine else (None, None)), 1e-3)

    return BlockWeights(
        norm1=norm(),
        qkv=linear(3 * C, C),
        proj=linear(C, C),
        norm2=norm(),
        fc1=linear(HIDDEN, C),
        fc2=linear(C, HIDDEN),
        bias=torch.randn(HEADS, N, N),
        cosine_scale=torch.rand(HEADS, 1, 1) * 5 + 1 if cosine else None,
        scale=1.0 if cosine else 0.7,
        post_norm=post_norm,
    )


def windows(*, padded=False, drops=False, hides=False):
    """Five windows, two of them with a mask, and what becomes of it for kernels."""
    mask = torch.eye(N).bool() | (torch.rand(N, N) > 0.5)
    is_padding = torch.zeros(WINDOWS * N, dtype=torch.bool)
    if padded:
        is_padding[[2, 3, 11, 29]] = True
    if hides:  # padding from all others
        mask = mask & ~is_padding[-N:]
        mask[is_padding[-N:]] = is_padding[-N:]
    real, place = (~is_padding).nonzero()[:, 0], torch.randperm(AREA)[: WINDOWS * N]
    places = torch.where(is_padding, -1, (~is_padding).cumsum(0) - 1)
    return WindowBatch(
        N,
        [(3, None), (2, mask)],
        padding=is_padding.nonzero()[:, 0] if padded else None,
        real=real if padded else None,
        kept=tuple(torch.rand(2, len(real), 1)) if drops else None,
        at=MapPlaces(place.masked_fill(is_padding, -1), place[real], places if padded else None),
    )


def tables(batch):
    return [
        (n, None if m is None else padded_table(torch.zeros(m.shape).masked_fill(~m, -torch.inf)))
        for n, m in batch.masks
    ]


def in_double(learned):
    return learned.with_tensors(
        [None if t is None else t.double().requires_grad_() for t in learned.tensors()]
    )


def exact(learned, batch, source, above):
    """Output, gradient of the map, and of the weights, in float64."""
    learned, source = in_double(learned), source.double().requires_grad_()
    if batch.kept is not None:
        batch = replace(batch, kept=tuple(one.double() for one in batch.kept))
    x = source[batch.at.source.clamp(min=0)]
    out = reference_block(x, learned, windows=batch, dtype=torch.float64)
    tensors = [t for t in learned.tensors() if t is not None]
    wanted = torch.autograd.grad(out, [source, *tensors], above[batch.at.target].double())
    return [out.detach(), wanted[0][batch.at.target], *wanted[1:]]


def room(block, batch, source):
    """For what is kept, filled with numbers that would be seen."""
    kept = block.room(source, every=len(batch.at.source), real=len(batch.at.target))
    return KernelKept(*(None if one is None else one.fill_(math.nan) for one in kept))


def by_kernels(learned, batch, source, above, *, dtype=torch.float32, again=False, needed=None):
    """The same by kernels."""
    block, run = KernelBlock(learned, dtype), {"windows": batch, "masks": tables(batch)}
    out, below = (torch.full_like(source, -9.0) for _ in range(2))
    kept = room(block, batch, source)
    block.forward(source, out, **run, room=None if again else kept)
    if again:
        block.forward(source, None, **run, room=kept)
    sums = GradientSums(block.weights, needed or [True] * len(learned.tensors()))
    block.backward(above, source, below, kept=kept, sums=sums, **run)
    block.add_attention(sums)
    others = torch.ones(AREA, dtype=torch.bool)
    others[batch.at.target] = False
    assert (out[others] == -9).all() and (below[others] == -9).all()
    results = sums.result(learned.tensors())
    return [out[batch.at.target], below[batch.at.target], *(r for r in results if r is not None)]


def by_operators(learned, batch, source, above, *, dtype):
    """The same by torch's operators, as before there were kernels."""
    learned = learned.computing_in(dtype)
    x = source[batch.at.source.clamp(min=0)]
    out, kept = block_forward(x.clone(), learned, windows=batch, dtype=dtype, keep=True)
    sums = GradientSums(learned, [True] * len(learned.tensors()))
    above = above[batch.at.target]
    run = {"kept": kept, "weights": learned, "windows": batch, "sums": sums}
    below = block_backward(above.clone(), x, **run)
    return [out, below, *(r for r in sums.result(learned.tensors()) if r is not None)]


def tokens(dtype=torch.float32):
    return torch.randn(AREA, C).to(dtype)


CASES = [
    {},
    {"post_norm": True, "cosine": True},
    {"post_norm": True},
    {"cosine": True, "affine": False},
    {"biases": False},
    {"post_norm": True, "affine": False, "biases": False},
]
AROUND = [
    {},
    {"padded": True},
    {"padded": True, "hides": True},
    {"drops": True},
    {"padded": True, "drops": True},
]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("around", AROUND, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_output_and_every_gradient_are_those_of_the_reference(case, around, again):
    given = weights(**case), windows(**around), tokens(), tokens()
    found, wanted = by_kernels(*given, again=again), exact(*given)
    largest = max(float(one.abs().max()) for one in wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        room = 1e-5 * max(float(theirs.abs().max()), 0.1 * largest)
        assert float((ours - theirs).abs().max()) < room


@pytest.mark.parametrize("mode", ["autocast", "pure"])
@pytest.mark.parametrize("case", CASES[:2], ids=str)
def test_in_bfloat16_it_is_nearer_to_float64_than_operators_are(case, mode):
    """By the median over output and gradients, in the mean of some blocks."""
    kind = torch.float32 if mode == "autocast" else torch.bfloat16
    ratios = []
    for _ in range(5):
        learned, batch = weights(**case), windows(padded=True, drops=True)
        if mode == "pure":
            cast = [None if t is None else t.bfloat16() for t in learned.tensors()]
            learned = learned.with_tensors(cast)
        given = learned, batch, tokens(kind), tokens(kind)
        wanted, medians = exact(*given), []
        for run in (by_kernels, by_operators):
            found = run(*given, dtype=torch.bfloat16)
            errors = [
                float((a.double() - b).norm() / b.norm())
                for a, b in zip(found, wanted, strict=True)
            ]
            assert max(errors) < 0.1
            medians.append(statistics.median(errors))
        ratios.append(medians[0] / medians[1])
    assert statistics.mean(ratios) < 1.05
    assert found[0].dtype == kind


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_only_what_is_asked_for_is_differentiated(case):
    learned, batch, source, above = weights(**case), windows(padded=True), tokens(), tokens()
    everything = by_kernels(learned, batch, source, above)[2:]
    present = [place for place, t in enumerate(learned.tensors()) if t is not None]
    for parity in (0, 1):
        needed = [place % 2 == parity for place in range(len(learned.tensors()))]
        found = by_kernels(learned, batch, source, above, needed=needed)[2:]
        wanted = [one for place, one in zip(present, everything, strict=True) if needed[place]]
        assert all(map(torch.equal, found, wanted)) and len(found) == len(wanted)
    assert len(by_kernels(learned, batch, source, above, needed=[False] * 14)) == 2


@pytest.mark.parametrize("post_norm", [False, True])
def test_windows_that_come_some_at_a_time_sum_up_to_all(post_norm):
    learned = weights(post_norm=post_norm)
    batches, source, above = [windows(padded=True), windows()], tokens(), tokens()
    block = KernelBlock(learned, torch.float32)
    sums = GradientSums(block.weights, [True] * len(learned.tensors()))
    for batch in batches:
        run = {"windows": batch, "masks": tables(batch)}
        kept = room(block, batch, source)
        block.forward(source, torch.empty_like(source), **run, room=kept)
        block.backward(above, source, torch.empty_like(source), kept=kept, sums=sums, **run)
    block.add_attention(sums)
    found = [one for one in sums.result(learned.tensors()) if one is not None]
    alone = [exact(learned, batch, source, above)[2:] for batch in batches]
    for ours, *parts in zip(found, *alone, strict=True):
        assert worst_difference(ours, sum(parts)) < 1e-4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("post_norm", [False, True])
def test_what_gelu_gives_is_not_kept_and_nothing_else_instead(post_norm, dtype):
    learned, source = weights(post_norm=post_norm), tokens()
    for batch in (windows(), windows(padded=True)):
        run = {"windows": batch, "masks": tables(batch)}
        block = KernelBlock(learned, dtype)
        kept = room(block, batch, source)
        block.forward(source, torch.empty_like(source), **run, room=kept)
        x = source[batch.at.source.clamp(min=0)]
        run = {"windows": batch, "dtype": dtype, "keep": True}
        _, by_hand = block_forward(x.clone(), learned.computing_in(dtype), **run)
        assert held(kept) <= held(by_hand.flat()) - by_hand.active.nbytes


def held(tensors):
    """Bytes."""
    return sum(one.nbytes for one in tensors if one is not None)


@pytest.mark.parametrize("keep", [False, True])
def test_neither_the_map_nor_the_gradient_above_is_written_to(keep):
    learned, batch, source, above = weights(), windows(padded=True), tokens(), tokens()
    before, gradient = source.clone(), above.clone()
    by_kernels(learned, batch, source, above, again=not keep)
    assert torch.equal(source, before) and torch.equal(above, gradient)


def test_what_kernels_have_not_is_said():
    learned, x = weights(), tokens()
    assert can_run_kernels(learned, x, torch.float32)
    assert can_run_kernels(learned, x.bfloat16(), torch.bfloat16)
    assert can_run_kernels(learned, x, torch.bfloat16)
    assert not can_run_kernels(learned, x.double(), torch.float64)
    assert not can_run_kernels(learned, x, torch.float16)
    assert not can_run_kernels(learned, x.half(), torch.float32)
