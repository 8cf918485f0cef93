"""What holds for every figure."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation
from PIL import Image
from torch import nn

from swin_mm.layers import PatchMerging, RelativePositionBias
from swin_mm.ops import WindowPlan
from swin_mm.visualization import (
    Wish,
    build_network,
    draw_figure,
    draw_masks,
    draw_merging,
    draw_padding,
    draw_position_bias,
    draw_windows,
)
from swin_mm.visualization.figures import FIGURES as ASKED

PICTURE = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
SQUARE = WindowPlan.of((21, 28), (7, 7), shifted=True)
OBLONG = WindowPlan.of((9, 23), (4, 6), shifted=True)

FIGURES = {
    "windows": lambda: draw_windows(PICTURE, SQUARE),
    "oblong windows": lambda: draw_windows(PICTURE, OBLONG),
    "masks": lambda: draw_masks(SQUARE),
    "oblong masks": lambda: draw_masks(OBLONG),
    "nine masks": lambda: draw_masks(OBLONG, mask_padding=True),
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


def network_of(kind, **more):
    backbone = {
        "type": kind,
        "embed_dims": 8,
        "depths": (2, 2, 2),
        "num_heads": (1, 2, 8),
        "strides": (4, 2, 2),
        "out_indices": (0, 1, 2),
        "window_size": (4, 4, (3, 5)),
        **more,
    }
    return build_network(model={"backbone": backbone})


@pytest.fixture(scope="module")
def networks():
    return {
        "v1": network_of("SwinTransformer"),
        "v2": network_of("SwinTransformerV2"),
        "hiding padding": network_of("SwinTransformer", mask_padding=True),
    }


WISHES = {
    "windows": [{}, {"stage": 2}],
    "shift": [{}, {"stage": 0}],
    "masks": [{}],
    "bias": [{"stage": 2, "block": 1, "head": 7}, {}],
    "attention": [{}, {"stage": 0, "block": 1, "token": (1, 1)}, {"stage": 1, "head": 1}],
    "features": [{}, {"channels": (0,)}],
    "receptive-field": [{}, {"token": (0, 0)}],
}


@pytest.mark.parametrize(
    ("which", "size"),
    [("v1", (97, 61)), ("v1", (9, 5)), ("v2", (20, 90)), ("hiding padding", (61, 30))],
)
@pytest.mark.parametrize("name", WISHES)
def test_nothing_leaves_a_figure_that_is_asked_for(name, which, size, networks, tmp_path):
    picture = tmp_path / "picture.png"
    Image.fromarray(PICTURE).resize(size).save(picture)
    for wish in WISHES[name]:
        pictures = [str(picture)] if "picture" in ASKED[name].options else []
        figure = draw_figure(name, networks[which], Wish(pictures=pictures, **wish))
        FigureCanvasAgg(figure).draw()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(box.x0, box.y0) >= -0.005
        assert box.x1 <= width + 0.005 and box.y1 <= height + 0.005
        assert not overlapping(figure)


def overlapping(figure):
    """Pairs of captions, titles and signatures that cover each other."""
    renderer = figure.canvas.get_renderer()
    texts = [*figure.texts]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title]
        texts += [
            one for one in axes.texts if isinstance(one, Annotation) and "\n" in one.get_text()
        ]
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text().strip()]
    return [
        (one, other)
        for number, (one, box) in enumerate(boxes)
        for other, against in boxes[number + 1 :]
        if box.padded(-1).overlaps(against.padded(-1))
    ]


def test_a_file_name_with_two_dollars_is_no_formula(networks):
    network = replace(networks["v1"], weights="$\\frac$.pth")
    figure = draw_figure("bias", network, Wish())
    FigureCanvasAgg(figure).draw()
    assert any("$\\frac$.pth" in text.get_text() for text in figure.texts)
