import itertools

import pytest
import torch

from swin_mm.ops.masks import regions, window_masks
from swin_mm.ops.windows import WindowPlan

CPU = torch.device("cpu")
PLANS = [
    WindowPlan.of(size, window, shifted=shifted)
    for size, window, shifted in itertools.product(
        [(1, 1), (2, 9), (4, 4), (5, 8), (12, 7)], [(2, 2), (4, 4), (3, 5)], [False, True]
    )
]


@pytest.mark.parametrize("mask_padding", [False, True])
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_regions_tile_the_windows_and_their_masks_are_the_windows_own(plan, mask_padding):
    rows, columns = plan.counts
    tokens = plan.window[0] * plan.window[1]
    by_window = torch.zeros(rows, columns, tokens, tokens, dtype=torch.int64)
    for region in itertools.chain(*regions(plan, mask_padding=mask_padding)):
        mask = region.mask(plan.window, CPU)
        here = by_window[
            region.rows.start : region.rows.stop, region.columns.start : region.columns.stop
        ]
        here += 1 + (torch.ones_like(here) if mask is None else mask)
    assert by_window.min() >= 1  # every window is in one region
    expected = window_masks(plan, CPU, mask_padding=mask_padding)
    assert torch.equal(by_window.flatten(0, 1), 1 + expected.long())


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_masks_equal_the_nine_slices_of_the_paper(plan):
    """Number the nine slices of fig. 4 on the padded map, as every port does, and compare."""
    if not all(plan.shift):
        pytest.skip("the nine slices need a shift on both axes")
    labels = torch.zeros(1, *plan.padded_size, 1)
    slices = [
        (slice(0, -side), slice(-side, -step), slice(-step, None))
        for side, step in zip(plan.window, plan.shift, strict=True)
    ]
    for number, (rows, columns) in enumerate(itertools.product(*slices)):
        labels[:, rows, columns] = number
    mh, mw = plan.window
    rows, columns = plan.counts
    cut = labels.view(rows, mh, columns, mw).transpose(1, 2).reshape(rows * columns, mh * mw)
    expected = cut[:, :, None] == cut[:, None, :]
    assert torch.equal(window_masks(plan, CPU), expected)


def test_a_shifted_map_has_four_masks_whatever_its_size():
    for size in ((14, 14), (70, 91), (200, 304)):
        grid = regions(WindowPlan.of(size, (7, 7), shifted=True))
        assert [len(row) for row in grid] == [2, 2]


def test_opposite_borders_never_meet():
    corner = regions(WindowPlan.of((14, 14), (7, 7), shifted=True))[1][1]
    mask = corner.mask((7, 7), CPU).view(7, 7, 7, 7)
    assert mask[0, 0, 3, 3]
    assert not mask[0, 0, 4, 0]
    assert not mask[0, 0, 0, 4]
    assert mask[6, 6, 4, 4]
    assert not mask[6, 0, 6, 6]


def test_without_shift_and_mask_there_is_one_region_and_no_mask():
    ((region,),) = regions(WindowPlan.of((20, 20), (7, 7)))
    assert region.mask((7, 7), CPU) is None


def test_hidden_padding_is_nobodys_key_but_its_own():
    ((region,),) = regions(WindowPlan.of((1, 2), (2, 2)), mask_padding=True)
    assert region.mask((2, 2), CPU).int().tolist() == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 0, 1],
    ]
