"""Kernels for whole maps beside torch's operators in float64."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_tensors import DTYPES, RUNS, WIDTHS, assert_near, drawn, guarded

from swin_mm.ops.kernels import NormTensors, merge_normed, norm_to_map

FUZZ = settings.get_profile("kernels")
KINDS = st.sampled_from(DTYPES)
BATCHES, SIDES = st.integers(0, 3), st.integers(1, 9)
CHANNELS = st.sampled_from(WIDTHS)

pytestmark = pytest.mark.usefixtures("level")


def a_norm(channels):
    return NormTensors(drawn(channels), drawn(channels), 1e-3)


def normed(x, norm):
    """In float64."""
    return F.layer_norm(x, x.shape[-1:], norm.weight.double(), norm.bias.double(), norm.eps)


def merged(x):
    """Neighbours after each other, (B, H, W, C) to (B, ceil(H / 2), ceil(W / 2), 4 C)."""
    x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    return torch.cat([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], dim=-1)


@FUZZ
@given(BATCHES, SIDES, SIDES, CHANNELS, KINDS, KINDS, st.booleans(), RUNS)
def test_neighbours_are_merged_and_normed(
    threads, batch, height, width, channels, kind, wanted, norms, run
):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    x, norm = drawn(batch, height, width, channels, dtype=kind), a_norm(4 * channels)
    shape = (batch, -(-height // 2), -(-width // 2), 4 * channels)
    with guarded((shape, wanted)) as (result,):
        merge_normed(x, result, norm=norm if norms else None)
    exact = merged(x.double())
    assert_near(result, normed(exact, norm) if norms else exact, least=1.0)


@FUZZ
@given(BATCHES, SIDES, SIDES, CHANNELS, KINDS, RUNS)
def test_norms_are_turned_to_maps(threads, batch, height, width, channels, kind, run):
    number, seed = run
    threads(number)
    torch.manual_seed(seed)
    x, norm = drawn(batch, height, width, channels, dtype=kind), a_norm(channels)
    with guarded(((batch, channels, height, width), kind)) as (result,):
        norm_to_map(x, result, norm=norm)
    assert_near(result, normed(x.double(), norm).permute(0, 3, 1, 2), least=1.0)


def test_a_large_map_comes_out_by_many_tiles_and_threads(threads):
    threads(3)
    x, norm = drawn(2, 61, 67, 96), a_norm(96)
    result = torch.empty(2, 96, 61, 67)
    norm_to_map(x, result, norm=norm)
    assert_near(result, normed(x.double(), norm).permute(0, 3, 1, 2))


def test_nan_stays_where_it_was():
    x, norm = drawn(1, 4, 4, 8), a_norm(8)
    x[0, 1, 2, 3] = float("nan")
    result, merging = torch.empty(1, 8, 4, 4), torch.empty(1, 2, 2, 32)
    norm_to_map(x, result, norm=norm)
    merge_normed(x, merging, norm=a_norm(32))
    assert result.isnan().any(1).nonzero().tolist() == [[0, 1, 2]]
    assert merging.isnan().any(-1).nonzero().tolist() == [[0, 0, 1]]
