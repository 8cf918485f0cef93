"""What a block has to do, but for tensors that have gradients."""

import itertools

import pytest
import torch
from chunked_networks import build

from swin_mm import SwinTransformer
from swin_mm.layers.chunk_job import ChunkJob

pytestmark = pytest.mark.usefixtures("small_chunks")

ONE = {"depths": (2,), "num_heads": (1,), "strides": (4,), "out_indices": (0,)}


def a_job(x, *, factors=None, **changes):
    block = build(SwinTransformer, **{**ONE, **changes}).stages[0].blocks[1]
    return ChunkJob.of(block, x, factors)


def test_the_blocks_own_options_are_what_is_done():
    x = torch.randn(1, 9, 11, 8)
    job = a_job(x, window_size=(2, 3), mask_padding=True, with_cp=True)
    assert (job.plan.size, job.plan.window, job.plan.shift) == ((9, 11), (2, 3), (1, 1))
    assert job.mask_padding and job.recompute and job.factors is None
    job = a_job(x, window_size=(9, 3), small_maps="still")
    assert job.plan.shift == (0, 1)
    assert not job.mask_padding and not job.recompute


@pytest.mark.parametrize(
    ("given", "cast", "wanted"),
    [
        (torch.float32, None, torch.float32),
        (torch.float32, torch.bfloat16, torch.bfloat16),
        (torch.bfloat16, None, torch.bfloat16),
        (torch.float64, torch.bfloat16, torch.float64),
    ],
    ids=str,
)
@pytest.mark.parametrize("has", [True, False])
def test_linear_layers_compute_in_what_autocast_says_but_for_float64(
    given, cast, wanted, has, half_products
):
    """And but for half precision where the processor has no instructions for it."""
    half_products(has)
    wanted = wanted if has else torch.promote_types(wanted, torch.float32)
    with torch.autocast("cpu", cast or torch.bfloat16, enabled=cast is not None):
        assert a_job(torch.randn(1, 9, 11, 8).to(given)).dtype == wanted


@pytest.mark.parametrize("batch", [0, 1, 3, 7])
@pytest.mark.parametrize("size", [(3, 4), (9, 11), (30, 40)])
def test_every_token_of_every_picture_is_gone_through_once(batch, size):
    x, found = torch.randn(batch, *size, 8), []
    for rows, chunk, windows in a_job(x).chunks(x):
        assert windows.at.target is chunk.targets
        assert sum(number for number, _ in windows.masks) * windows.tokens == len(chunk.tokens)
        found.append(torch.arange(x[..., 0].numel())[rows][windows.at.target])
    everything = torch.cat(found) if found else torch.empty(0, dtype=torch.int64)
    assert torch.equal(everything.sort().values, torch.arange(x[..., 0].numel()))


def test_small_pictures_share_chunks_and_large_ones_have_their_own():
    for size, number in (((3, 4), 1), ((30, 40), 3)):
        x = torch.randn(3, *size, 8)
        groups = itertools.groupby(rows for rows, _, _ in a_job(x).chunks(x))
        assert len(list(groups)) == number


def test_each_token_has_its_pictures_factors():
    x = torch.arange(3.0)[:, None, None, None].expand(3, 9, 11, 8)
    factors = torch.tensor([0.5, 1.5, 2.5]), torch.tensor([5.0, 6.0, 7.0])
    flat = x.reshape(-1, 8)[:, 0]
    for rows, _, windows in a_job(x, factors=factors).chunks(x):
        picture = flat[rows][windows.at.target].long()
        assert len(windows.real) == len(picture) < len(windows.at.source)
        for index, factor in enumerate(factors):
            assert torch.equal(windows.kept[index], factor[picture][:, None])
            assert torch.equal(windows.factor(index), factor[picture])
            assert torch.equal(
                windows.keep(torch.ones(len(picture), 8), index)[:, 0], factor[picture]
            )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mask_padding", [False, True])
def test_tables_are_the_masks_of_the_same_windows(mask_padding, dtype):
    x, hidden = torch.randn(2, 30, 40, 8).to(dtype), 0
    job = a_job(x, mask_padding=mask_padding)
    for _, chunk, windows in job.chunks(x):
        pairs = zip(job.tables(chunk, x), windows.masks, strict=True)
        for (number, table), (windows_of_it, mask) in pairs:
            assert number == windows_of_it
            assert (table is None) == (mask is None)
            if mask is not None:
                hidden += 1
                assert torch.equal(table[:, : windows.tokens] == 0, mask)
                assert torch.equal(table[:, : windows.tokens] == float("-inf"), ~mask)
    assert hidden > 3
