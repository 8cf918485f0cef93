import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from swin_mm.ops.position import (
    log_spaced_offsets,
    relative_position_bias,
    relative_position_index,
    resize_position_embedding,
)


@pytest.mark.parametrize("window", [(1, 1), (2, 3), (7, 7), (3, 5)])
def test_the_index_numbers_offsets_row_after_row(window):
    mh, mw = window
    index = relative_position_index(window)
    tokens = list(itertools.product(range(mh), range(mw)))
    for (a, (i, j)), (b, (k, m)) in itertools.product(enumerate(tokens), repeat=2):
        assert index[a, b] == (i - k + mh - 1) * (2 * mw - 1) + (j - m + mw - 1)


def test_the_bias_is_the_tables_row_for_every_head():
    table = torch.randn(3 * 5, 4)
    index = relative_position_index((2, 3))
    bias = relative_position_bias(table, index)
    assert bias.shape == (4, 6, 6)
    assert torch.equal(bias[2, 1, 5], table[index[1, 5], 2])


@pytest.mark.parametrize("learned", [(3, 5), (2, 9), (1, 1)])
def test_offsets_are_spaced_by_their_logarithm_in_the_tables_order(learned):
    coords = log_spaced_offsets((3, 5), learned)
    assert coords.dtype == torch.float64
    offsets = itertools.product(range(-2, 3), range(-4, 5))
    for row, offset in zip(coords.tolist(), offsets, strict=True):
        for place, step, side in zip(row, offset, learned, strict=True):
            expected = math.log2(1 + 8 * abs(step) / max(side - 1, 1)) / 3
            assert place == pytest.approx(math.copysign(expected, step))


def test_a_window_of_one_token_has_offset_0():
    assert torch.equal(log_spaced_offsets((1, 1), (1, 1)), torch.zeros(1, 2, dtype=torch.float64))


def test_an_embedding_at_its_own_size_is_untouched():
    embedding = torch.randn(1, 6, 4)
    same = resize_position_embedding(embedding, (2, 3), (2, 3))
    assert torch.equal(same, embedding.view(1, 2, 3, 4))


def test_an_embedding_is_interpolated_row_by_column():
    embedding = torch.randn(1, 6, 4)
    planes = embedding.view(1, 2, 3, 4).permute(0, 3, 1, 2)
    expected = F.interpolate(planes, size=(5, 4), mode="bicubic").permute(0, 2, 3, 1)
    assert torch.equal(resize_position_embedding(embedding, (2, 3), (5, 4)), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_embeddings_are_interpolated_in_float32(dtype):
    embedding = torch.randn(1, 6, 4).to(dtype)
    resized = resize_position_embedding(embedding, (2, 3), (5, 4))
    expected = resize_position_embedding(embedding.float(), (2, 3), (5, 4)).to(dtype)
    assert resized.dtype == dtype
    assert torch.equal(resized, expected)
