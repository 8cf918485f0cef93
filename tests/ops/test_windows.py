import pytest
import torch

from swin_mm.ops.windows import WindowPlan, cut_windows, join_windows


def test_a_map_of_200_x_304_tokens_pads_to_203_x_308_and_cuts_into_1276_windows():
    plan = WindowPlan.of((200, 304), (7, 7))
    assert plan.padded_size == (203, 308)
    assert plan.padding == (3, 4)
    assert plan.counts == (29, 44)
    assert plan.num_windows == 1276
    assert cut_windows(plan.lay_out(torch.zeros(1, 200, 304, 1)), (7, 7)).shape == (1276, 49, 1)


@pytest.mark.parametrize("size", [(1, 1), (6, 9), (7, 5), (12, 4)])
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize("shifted", [False, True])
def test_what_is_laid_out_and_cut_comes_back_as_it_was(size, window, shifted):
    plan = WindowPlan.of(size, window, shifted=shifted)
    x = torch.randn(2, *size, 3)
    windows = cut_windows(plan.lay_out(x), window)
    assert windows.shape == (2 * plan.num_windows, window[0] * window[1], 3)
    assert torch.equal(plan.take_back(join_windows(windows, window, plan.counts)), x)


def test_windows_are_cut_row_after_row():
    x = torch.arange(16.0).view(1, 4, 4, 1)
    assert cut_windows(x, (2, 2))[..., 0].tolist() == [
        [0, 1, 4, 5],
        [2, 3, 6, 7],
        [8, 9, 12, 13],
        [10, 11, 14, 15],
    ]


def test_padding_lies_right_and_below_before_the_roll():
    plan = WindowPlan.of((3, 3), (2, 2), shifted=True)
    laid_out = plan.lay_out(torch.ones(1, 3, 3, 1))[0, :, :, 0]
    # Padded row and column 3 stand at 2 after the roll by one; row 0 stands last.
    assert laid_out.tolist() == [[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1]]


@pytest.mark.parametrize(
    "numbers",
    [
        *(((8, 8), (0, 7)), ((0, 8), (7, 7)), ((8, 8), (7, 7), (7, 0)), ((8, 8), (7, 7), (0, -1))),
        *(((8.0, 8), (7, 7)), ((8, 8), (7, 7.5)), ((8, 8, 3), (7, 7)), ((8, 8), (7, 7), (3,))),
        *(((8, "8"), (7, 7)), ((8, None), (7, 7)), ([8, 8], [7, 7]), ((8, 8), 7)),
    ],
)
def test_a_plan_that_cannot_be_is_refused(numbers):
    with pytest.raises(ValueError, match="shifts from 0 to less than the window"):
        WindowPlan.of(*numbers, shifted=True) if len(numbers) == 2 else WindowPlan(*numbers)


def test_what_becomes_of_small_maps_is_one_of_two():
    with pytest.raises(ValueError, match="small_maps must be one of"):
        WindowPlan.of((8, 8), (7, 7), small_maps="stil")


def test_every_axis_shifts_by_half_its_window():
    assert WindowPlan.of((30, 30), (7, 12), shifted=True).shift == (3, 6)
    assert WindowPlan.of((30, 30), (1, 2), shifted=True).shift == (0, 1)


def test_small_maps_shift_unless_told_to_be_still_axis_by_axis():
    # 56 x 224 px at stride 32 is 2 x 7 tokens, 56 x 256 px 2 x 8.
    assert WindowPlan.of((2, 8), (7, 7), shifted=True).shift == (3, 3)
    assert WindowPlan.of((2, 8), (7, 7), shifted=True, small_maps="still").shift == (0, 3)
    assert WindowPlan.of((7, 7), (7, 7), shifted=True, small_maps="still").shift == (0, 0)
