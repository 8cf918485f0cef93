import itertools

import pytest
import torch
from torch.nn import functional

from swin_mm.inference.pixel_scores import PixelScores, bands

SIZES = [(23, 31), (6, 9), (3, 40), (1, 1), (50, 4)]


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_rows_are_those_of_the_whole_resized_at_once(size, align_corners):
    logits = torch.randn(4, 6, 9)
    scores = PixelScores([logits], *size, align_corners, False)
    whole = functional.interpolate(
        logits[None], size, mode="bilinear", align_corners=align_corners
    )[0]
    edges = sorted({0, size[0] // 2, size[0]})
    parts = [scores.rows(*edge) for edge in itertools.pairwise(edges)]
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-5, atol=1e-5)


def test_views_are_averaged_as_probabilities():
    views = [torch.randn(3, 4, 5), torch.randn(3, 4, 5)]
    rows = PixelScores(views, 4, 5, False, True).rows(0, 4)
    torch.testing.assert_close(rows, (views[0].softmax(0) + views[1].softmax(0)) / 2)
    ones = [view[:1] for view in views]
    rows = PixelScores(ones, 4, 5, False, True).rows(1, 2)
    expected = (ones[0].sigmoid() + ones[1].sigmoid())[:, 1:2] / 2
    torch.testing.assert_close(rows, expected)


def test_bands_cover_all_rows_and_hold_a_bounded_number_of_scores():
    row = 150 * 20_000
    found = list(bands(3, 20, row=row))
    assert found[0][0] == 3 and found[-1][1] == 20
    assert all(before[1] == after[0] for before, after in itertools.pairwise(found))
    assert max((stop - start) * row for start, stop in found) <= 2**24
    assert list(bands(0, 2, row=2**30)) == [(0, 1), (1, 2)]
