import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.ops import WindowPlan, window_masks
from swin_mm.visualization.canvas import (
    box_of,
    fit_picture,
    hatch_padding,
    kinds_of,
    lay_out,
    window_lines,
)
from swin_mm.visualization.style import KINDS

NOISE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
PLANS = [
    WindowPlan.of((14, 21), (7, 7), shifted=True),
    WindowPlan.of((10, 12), (7, 7), shifted=True),
    WindowPlan.of((13, 9), (4, 6), shifted=True),
    WindowPlan.of((15, 8), (7, 7), shifted=True),  # padding that the roll wraps around
    WindowPlan.of((3, 2), (7, 7), shifted=True),
    WindowPlan.of((10, 12), (7, 7)),
]


def panel(plan):
    axes = Figure().add_subplot()
    axes.set(xlim=(0, plan.padded_size[1]), ylim=(plan.padded_size[0], 0))
    return axes


def covered(patches, size):
    """Tokens under rectangles, (H, W)."""
    tokens = np.zeros(size, bool)
    for patch in patches:
        if isinstance(patch, Rectangle):
            (x, y), width, height = patch.get_xy(), patch.get_width(), patch.get_height()
            tokens[round(y) : round(y + height), round(x) : round(x + width)] = True
    return tokens


@pytest.mark.parametrize("plan", PLANS)
def test_a_token_is_a_square_of_whole_pixels(plan):
    height, width = fit_picture(NOISE, plan).shape[:2]
    scale = height // plan.size[0]
    assert (height, width) == (plan.size[0] * scale, plan.size[1] * scale)


@pytest.mark.parametrize("plan", PLANS)
def test_a_picture_is_padded_and_rolled_as_the_map_is(plan):
    fitted = fit_picture(NOISE, plan)
    scale = fitted.shape[0] // plan.size[0]
    corners = lay_out(fitted, plan)[::scale, ::scale]  # the first pixel of every token
    tokens = torch.from_numpy(fitted[::scale, ::scale].copy()).int() + 1
    expected = plan.lay_out(tokens[None])[0]
    expected = torch.where(expected == 0, 256, expected) - 1  # padding is white
    assert np.array_equal(corners, expected)


@pytest.mark.parametrize("plan", PLANS)
def test_just_the_padding_is_hatched_wherever_it_is_rolled_to(plan):
    axes = panel(plan)
    hatch_padding(axes, plan)
    is_padding = plan.lay_out(torch.ones(1, *plan.size, 1))[0, ..., 0] == 0
    assert np.array_equal(covered(axes.patches, plan.padded_size), is_padding)


@pytest.mark.parametrize("plan", PLANS)
def test_windows_of_one_kind_have_one_mask(plan):
    masks = window_masks(plan, torch.device("cpu")).unflatten(0, plan.counts)
    seen = np.zeros(plan.counts, int)
    for kind, region in kinds_of(plan):
        rows, columns = region.rows, region.columns
        mask = region.mask(plan.window, torch.device("cpu"))
        part = masks[rows.start : rows.stop, columns.start : columns.stop]
        assert (part == (True if mask is None else mask)).all()
        assert (kind is KINDS[0]) == (mask is None)
        left, top, right, bottom = box_of(region, plan.window)
        assert (bottom - top, right - left) == (
            rows.count * plan.window[0],
            columns.count * plan.window[1],
        )
        seen[rows.start : rows.stop, columns.start : columns.stop] += 1
    assert (seen == 1).all()


def test_window_lines_stand_on_the_borders_of_windows_and_of_the_map():
    plan = WindowPlan.of((14, 21), (7, 7), shifted=True)
    axes = panel(plan)
    window_lines(axes, plan, start=plan.shift)
    upright = {float(line.get_xdata()[0]) for line in axes.lines if len({*line.get_xdata()}) == 1}
    assert upright == {0, 3, 10, 17, 21}
