import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from swin_mm.ops import WindowPlan, window_masks
from swin_mm.visualization import draw_masks
from swin_mm.visualization.style import PALE

PLAN = WindowPlan.of((21, 28), (7, 7), shifted=True)


def drawn_masks(plan):
    """What the panels show, True where a pair is coloured, (kinds, N, N)."""
    panels = [axes for axes in draw_masks(plan).axes if axes.get_xlabel() == "key"]
    pictures = [np.asarray(axes.images[0].get_array()) for axes in panels]
    return np.stack([~np.isclose(picture, to_rgb(PALE)).all(-1) for picture in pictures])


@pytest.mark.parametrize("plan", [PLAN, WindowPlan.of((9, 23), (4, 6), shifted=True)])
def test_the_panels_show_the_four_masks_that_the_network_uses(plan):
    used = np.unique(window_masks(plan, torch.device("cpu")), axis=0)
    assert len(used) == 4
    assert np.array_equal(np.unique(drawn_masks(plan), axis=0), used)


def test_a_map_without_shift_has_one_panel_where_all_look_at_all():
    masks = drawn_masks(WindowPlan((14, 14), (7, 7)))
    assert masks.shape == (1, 49, 49)
    assert masks.all()


def test_the_corner_says_how_little_is_allowed():
    texts = [text.get_text() for axes in draw_masks(PLAN).axes for text in axes.texts]
    share = ((4 * 4) ** 2 + 2 * (4 * 3) ** 2 + (3 * 3) ** 2) / 49**2
    assert f"4 groups of tokens\n{share:.0%} of pairs" in texts


@pytest.mark.parametrize("size", [(9, 23), (12, 20), (7, 9)])
def test_hidden_padding_has_masks_of_its_own(size):
    plan = WindowPlan.of(size, (4, 6), shifted=True)
    used = np.unique(window_masks(plan, torch.device("cpu"), mask_padding=True), axis=0)
    figure = draw_masks(plan, mask_padding=True)
    panels = [axes for axes in figure.axes if axes.get_xlabel() == "key"]
    pictures = [np.asarray(axes.images[0].get_array()) for axes in panels]
    shown = np.stack([~np.isclose(one, to_rgb(PALE)).all(-1) for one in pictures])
    assert np.array_equal(np.unique(shown, axis=0), used)
    texts = [text.get_text() for axes in panels for text in axes.texts]
    assert any("padding" in text for text in texts)
