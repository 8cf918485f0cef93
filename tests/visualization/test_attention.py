import cv2
import numpy as np
import pytest
import torch

from swin_mm.visualization import DrawingError, Picture, build_network, draw_attention
from swin_mm.visualization.style import PALE

PICTURE = Picture(np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def network():
    model = {
        "backbone": {
            "type": "SwinTransformer",
            "embed_dims": 8,
            "depths": (2, 2),
            "num_heads": (2, 4),
            "strides": (4, 2),
            "out_indices": (0, 1),
            "window_size": 4,
        }
    }
    return build_network(model=model)


def names(figure):
    return [text.get_text() for axes in figure.axes[1:] for text in axes.texts if axes.texts]


def overlay(axes):
    """The colours laid over a panel's picture, (h, w, 4)."""
    return np.asarray(axes.images[1].get_array())


def test_every_head_and_their_mean_have_a_panel(network):
    figure = draw_attention(network, PICTURE, stage=1, block=0)
    assert [name for name in names(figure) if "up" not in name] == ["mean"] + [
        f"head {number}" for number in range(4)
    ]


def test_one_head_is_shown_beside_the_mean(network):
    figure = draw_attention(network, PICTURE, stage=1, block=0, head=3)
    assert [name for name in names(figure) if "up" not in name] == ["mean", "head 3"]


def test_the_panels_tell_the_largest_weight(network):
    figure = draw_attention(network, PICTURE, stage=0, block=0, head=1, token=(40, 20))
    from swin_mm.visualization import record_attention

    record = record_attention(network, network.norm(PICTURE.pixels), stage=0, block=0)
    largest = record.gaze((5, 10)).weights[1].max()
    assert f"up to {largest:.0%}" in names(figure)


def test_what_the_mask_hides_is_gray_and_has_no_colour(network):
    figure = draw_attention(network, PICTURE, stage=0, block=1, head=0, token=(1, 1))
    head = figure.axes[2]
    gray = [p for p in head.patches if p.get_facecolor() == _rgba(PALE)]
    # Rows 15 and columns 23: the token is in the corner window, 2 of 4 rows and columns beyond.
    assert len(gray) == 12
    assert (overlay(head)[..., 3] > 0).sum() == 4


def test_the_mean_lies_where_the_window_is_in_the_picture(network):
    figure = draw_attention(network, PICTURE, stage=0, block=1, token=(1, 1))
    rows, columns = np.nonzero(overlay(figure.axes[0])[..., 3])
    assert {*rows.tolist()} == {*columns.tolist()} == {0, 1}


def test_the_star_stands_on_the_token_of_the_files_picture(network):
    shrunk = Picture(cv2.resize(PICTURE.pixels, (45, 30)), (0.5, 0.5))
    figure = draw_attention(network, shrunk, stage=0, block=0, token=(80, 50))
    (star,) = [line for line in figure.axes[0].lines if line.get_marker() == "*"]
    assert star.get_xydata().tolist() == [[10.5, 6.5]]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"stage": 2, "block": 0}, r"--stage must be 0 to 1: .* has 2 stages, got 2"),
        (
            {"stage": 0, "block": 2},
            r"--block must be 0 to 1 in stage 0, got 2; .* have 2, 2 blocks",
        ),
        ({"stage": 0, "block": 0, "head": 2}, "--head must be 0 to 1: stage 0 has 2 heads, got 2"),
        ({"stage": 0, "block": 0, "token": (90, 0)}, "X from 0 to 89, Y from 0 to 59 px, got 90,0"),
        ({"stage": 0, "block": 0, "token": (0, -1)}, "got 0,-1"),
    ],
)
def test_what_is_not_there_is_refused(network, wish, message):
    with pytest.raises(DrawingError, match=message):
        draw_attention(network, PICTURE, **wish)


def _rgba(colour):
    from matplotlib.colors import to_rgba

    return to_rgba(colour)


def test_nothing_is_left_hooked(network):
    draw_attention(network, PICTURE, stage=0, block=0)
    assert not any(
        module._forward_hooks or module._forward_pre_hooks for module in network.backbone.modules()
    )
    assert torch.is_grad_enabled()
