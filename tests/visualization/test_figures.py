"""What holds for every figure."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from torch import nn

from swin_mm.layers import PatchMerging, RelativePositionBias
from swin_mm.ops import WindowPlan
from swin_mm.visualization import (
    draw_masks,
    draw_merging,
    draw_padding,
    draw_position_bias,
    draw_windows,
)

PICTURE = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
SQUARE = WindowPlan.of((21, 28), (7, 7), shifted=True)
OBLONG = WindowPlan.of((9, 23), (4, 6), shifted=True)

FIGURES = {
    "windows": lambda: draw_windows(PICTURE, SQUARE),
    "oblong windows": lambda: draw_windows(PICTURE, OBLONG),
    "masks": lambda: draw_masks(SQUARE),
    "oblong masks": lambda: draw_masks(OBLONG),
    "one mask": lambda: draw_masks(WindowPlan((14, 14), (7, 7))),
    "padding": lambda: draw_padding(PICTURE, OBLONG),
    "padding without shift": lambda: draw_padding(PICTURE, WindowPlan((9, 23), (4, 6))),
    "position bias": lambda: draw_position_bias(RelativePositionBias((3, 5), num_heads=2), head=1),
    "merging": lambda: draw_merging(PatchMerging(8, 16, stride=2, norm=nn.LayerNorm)),
    "bare merging": lambda: draw_merging(PatchMerging(8, 16, stride=2, norm=None)),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_leaves_a_figure_or_stays_behind_in_pyplot(name):
    figure = FIGURES[name]()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert canvas.get_width_height()[0] == (350 if name == "one mask" else 1400)
    box = figure.get_tightbbox()  # inches, of all that is drawn
    width, height = figure.get_size_inches()
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= width and box.y1 <= height
    assert plt.get_fignums() == []
