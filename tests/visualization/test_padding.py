import numpy as np

from swin_mm.ops import WindowPlan
from swin_mm.visualization import draw_padding

PICTURE = np.zeros((30, 40, 3), np.uint8)


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_a_shifted_map_is_shown_alone_then_padded_then_rolled():
    figure = draw_padding(PICTURE, WindowPlan.of((12, 16), (7, 7), shifted=True))
    assert titles(figure) == ["A map of 12x16 tokens", "Padded to 14x21", "Then rolled by 3"]


def test_a_map_without_shift_is_not_rolled():
    assert len(draw_padding(PICTURE, WindowPlan((12, 16), (7, 7))).axes) == 2


def test_the_map_alone_has_a_line_for_every_token():
    alone = draw_padding(PICTURE, WindowPlan((12, 16), (7, 7))).axes[0]
    upright = {line.get_xdata()[0] for line in alone.lines if len({*line.get_xdata()}) == 1}
    assert upright == set(range(17))
