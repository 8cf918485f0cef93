from collections import Counter

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from swin_mm.ops import WindowPlan
from swin_mm.visualization import draw_windows
from swin_mm.visualization.style import KINDS
from swin_mm.visualization.windows import draw_pieces, draw_seams

PICTURE = np.zeros((30, 40, 3), np.uint8)
PLAN = WindowPlan.of((21, 28), (7, 7), shifted=True)


def tinted(axes, colour, size):
    """Tokens under a colour, (H, W)."""
    tokens = np.zeros(size, bool)
    for patch in axes.patches:
        if isinstance(patch, Rectangle) and patch.get_facecolor()[:3] == colour[:3]:
            (x, y), width, height = patch.get_xy(), patch.get_width(), patch.get_height()
            tokens[int(y) : int(y + height), int(x) : int(x + width)] = True
    return tokens


def test_every_window_bears_the_number_of_its_kind():
    rolled = draw_windows(PICTURE, PLAN).axes[2]
    numbers = Counter(text.get_text() for text in rolled.texts if text.get_text().isdigit())
    assert numbers == {"1": 6, "2": 2, "3": 3, "4": 1}


@pytest.mark.parametrize("plan", [PLAN, WindowPlan.of((9, 23), (4, 6), shifted=True)])
def test_pieces_are_rolled_to_where_the_map_is_rolled(plan):
    before, after = Figure().add_subplot(), Figure().add_subplot()
    draw_pieces(before, plan, rolled=False)
    draw_pieces(after, plan, rolled=True)
    for kind in KINDS[1:]:
        was = tinted(before, to_rgb(kind.colour), plan.padded_size)
        rolled = np.roll(was, (-plan.shift[0], -plan.shift[1]), (0, 1))
        assert was.any()
        assert np.array_equal(tinted(after, to_rgb(kind.colour), plan.padded_size), rolled)


def test_seams_lie_where_opposite_borders_meet():
    axes = Figure().add_subplot()
    draw_seams(axes, PLAN)
    places = {(tuple(line.get_xdata()), tuple(line.get_ydata())) for line in axes.lines}
    assert places == {((0, 28), (18, 18)), ((25, 25), (0, 21))}


def test_a_shift_along_one_axis_has_two_kinds():
    plan = WindowPlan((14, 7), (7, 7), (3, 0))
    rolled = draw_windows(PICTURE, plan).axes[2]
    numbers = Counter(text.get_text() for text in rolled.texts if text.get_text().isdigit())
    assert numbers == {"1": 1, "3": 1}
    assert "3 down, 0 across" in draw_windows(PICTURE, plan).axes[1].get_title(loc="left")


def test_a_plan_without_shift_is_refused():
    with pytest.raises(ValueError, match="shifted=True"):
        draw_windows(PICTURE, WindowPlan((21, 28), (7, 7)))


def test_of_many_windows_each_kind_bears_its_number_once():
    rolled = draw_windows(PICTURE, WindowPlan.of((90, 120), (7, 7), shifted=True)).axes[2]
    numbers = [text.get_text() for text in rolled.texts if text.get_text().isdigit()]
    assert sorted(numbers) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(("size", "said"), [((5, 5), "one kind"), ((21, 28), "four kinds")])
def test_the_caption_counts_the_kinds(size, said):
    rolled = draw_windows(PICTURE, WindowPlan.of(size, (7, 7), shifted=True)).axes[2]
    assert any(said in text.get_text() for text in rolled.texts)
