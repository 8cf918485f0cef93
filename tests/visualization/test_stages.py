import numpy as np
import pytest

from swin_mm.visualization import DrawingError, build_network, draw_stages

PICTURE = np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8)
BACKBONE = {
    "type": "SwinTransformer",
    "embed_dims": 4,
    "depths": (1, 1, 1),
    "num_heads": (1, 1, 1),
    "strides": (4, 2, 2),
    "out_indices": (2,),
    "window_size": 4,
}


@pytest.fixture(scope="module")
def network():
    return build_network(model={"backbone": BACKBONE})


def test_a_panel_tells_map_windows_and_what_a_window_covers(network):
    figure = draw_stages(network, PICTURE, stages=[0, 1, 2])
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Stage 0, stride 4",
        "Stage 1, stride 8",
        "Stage 2, stride 16",
    ]
    assert [axes.texts[0].get_text() for axes in figure.axes] == [
        "15x23 tokens in 4x6 windows\nof 4x4: 16x16 px each",
        "8x12 tokens in 2x3 windows\nof 4x4: 32x32 px each",
        "4x6 tokens in 1x2 windows\nof 4x4: 64x64 px each",
    ]


def test_all_panels_have_one_scale(network):
    figure = draw_stages(network, PICTURE, stages=[0, 2])
    strides = (4, 16)
    wide = {axes.get_xlim()[1] * stride for axes, stride in zip(figure.axes, strides, strict=True)}
    assert wide == {128}  # two windows of 64 px


def test_window_borders_are_those_of_the_plan(network):
    (axes,) = draw_stages(network, PICTURE, stages=[1]).axes
    upright = {float(x[0]) for line in axes.lines if len({*(x := line.get_xdata())}) == 1
               and line.get_linewidth() == 1.8}  # fmt: skip
    assert upright == {0, 4, 8, 12}


def test_a_stage_that_is_not_there_is_refused(network):
    with pytest.raises(DrawingError, match="--stage must be 0 to 2"):
        draw_stages(network, PICTURE, stages=[3])
