import dataclasses

import pytest
import torch

from swin_mm.ops import WindowPlan, cut_windows, regions
from swin_mm.ops.chunks import ChunkCache, chunks_of, tokens_for

TOKENS = tokens_for(torch.float32)

PLANS = [
    WindowPlan.of((h, w), window, shifted=shifted)
    for h, w in ((1, 1), (7, 9), (14, 14), (30, 41), (3, 200))
    for window in ((7, 7), (2, 5))
    for shifted in (False, True)
]


def taken(x, chunks):
    """Windows of all chunks, with zeros for padding, (n, N, C)."""
    flat, found = x.reshape(-1, x.shape[-1]), []
    for chunk in chunks:
        rows = flat[chunk.tokens].clone()
        if chunk.padding is not None:
            rows[chunk.padding] = 0
        found.append(rows.view(len(chunk.images), -1, x.shape[-1]))
    return torch.cat(found)


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_chunks_hold_the_windows_of_the_plan_region_by_region(plan, images):
    x = torch.randn(images, *plan.size, 2)
    (mh, mw), whole = plan.window, plan.lay_out(x)
    wanted = [
        cut_windows(
            whole[
                :,
                region.rows.start * mh : region.rows.stop * mh,
                region.columns.start * mw : region.columns.stop * mw,
            ],
            plan.window,
        )
        for row in regions(plan)
        for region in row
    ]
    assert torch.equal(taken(x, chunks_of(plan, images, tokens=TOKENS)), torch.cat(wanted))


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_every_token_is_put_back_once(plan):
    chunks = chunks_of(plan, 2, tokens=TOKENS)
    height, width = plan.size
    targets = torch.cat([chunk.targets for chunk in chunks])
    assert torch.equal(targets.sort().values, torch.arange(2 * height * width))
    for chunk in chunks:
        real = chunk.tokens if chunk.real is None else chunk.tokens[chunk.real]
        assert torch.equal(chunk.targets, real)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_regions_and_pictures_are_told_window_by_window(plan):
    for chunk in chunks_of(plan, 2, tokens=TOKENS):
        assert sum(number for number, _ in chunk.regions) == len(chunk.images)
        first = chunk.tokens.view(len(chunk.images), -1).amax(dim=1)  # padding says 0
        height, width = plan.size
        assert torch.equal(chunk.images[first > 0], first[first > 0] // (height * width))


def test_chunks_are_few_tokens_each_and_one_window_at_least():
    plan = WindowPlan.of((60, 80), (7, 7), shifted=True)
    sizes = [len(chunk.tokens) for chunk in chunks_of(plan, 1, tokens=TOKENS)]
    assert max(sizes) <= TOKENS < sum(sizes)
    (chunk,) = chunks_of(WindowPlan.of((90, 90), (90, 90)), 1, tokens=TOKENS)
    assert len(chunk.images) == 1


def test_the_bytes_of_kept_chunks_are_bounded():
    cache, made = ChunkCache(limit=300_000), 0
    for side in range(20, 60):  # the last takes 156 kB
        plan = WindowPlan.of((side, side), (7, 7), shifted=True)
        chunks = cache.chunks(plan, 1, tokens=TOKENS, mask_padding=False)
        made += sum(held_by(chunk) for chunk in chunks)
        assert cache.size <= 300_000
        assert cache.size == made or made > 300_000
    assert cache.size > 150_000


def held_by(chunk):
    """Bytes of a chunk's tensors, those that are the same counted once."""
    tensors = [getattr(chunk, field.name) for field in dataclasses.fields(chunk)]
    return sum({id(t): t.nbytes for t in tensors if isinstance(t, torch.Tensor)}.values())


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_sources_and_places_say_where_each_token_comes_from_and_goes(plan):
    for chunk in chunks_of(plan, 2, tokens=TOKENS):
        is_padding = torch.zeros(len(chunk.tokens), dtype=torch.bool)
        if chunk.padding is None:
            assert chunk.places is None
            assert torch.equal(chunk.sources, chunk.tokens)
            continue
        is_padding[chunk.padding] = True
        assert torch.equal(chunk.sources < 0, is_padding)
        assert torch.equal(chunk.places < 0, is_padding)
        assert torch.equal(chunk.sources[~is_padding], chunk.targets)
        assert torch.equal(chunk.targets[chunk.places[~is_padding]], chunk.targets)


def test_hidden_padding_has_regions_of_its_own():
    plan = WindowPlan.of((10, 10), (7, 7))
    (plain,), (hidden,) = (
        chunks_of(plan, 1, tokens=TOKENS, mask_padding=mask) for mask in (False, True)
    )
    assert len(plain.regions) < len(hidden.regions)


def test_half_precision_takes_twice_the_tokens():
    assert tokens_for(torch.bfloat16) == 2 * tokens_for(torch.float32) == 8192
