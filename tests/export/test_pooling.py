import pytest
import torch
from torch import nn

from swin_mm.export.pooling import AveragingPool, averages


@pytest.mark.parametrize("size", [(1, 1), (2, 5), (7, 3), (12, 17), (6, 6)])
@pytest.mark.parametrize("bins", [1, 2, 3, 6, (2, 5), (None, 3)])
def test_it_computes_what_adaptive_pooling_does(size, bins):
    x = torch.randn(2, 3, *size)
    torch.testing.assert_close(AveragingPool(bins)(x), nn.AdaptiveAvgPool2d(bins)(x))


def test_shares_overlap_where_they_must():
    expected = [[0.5, 0.5, 0, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3, 0], [0, 0, 0, 0.5, 0.5]]
    torch.testing.assert_close(averages(5, 3, like=torch.ones(1)), torch.tensor(expected))


def test_averages_have_the_maps_dtype():
    assert AveragingPool(2)(torch.ones(1, 1, 4, 4, dtype=torch.float64)).dtype == torch.float64
