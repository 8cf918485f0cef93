import numpy as np
import pytest
import torch

from swin_mm.visualization import DrawingError, Picture, build_network, draw_features
from swin_mm.visualization.features import most_varied, principal_colours

PICTURE = Picture(np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8))
BACKBONE = {
    "type": "SwinTransformer",
    "embed_dims": 4,
    "depths": (1, 1, 1),
    "num_heads": (1, 1, 1),
    "strides": (4, 2, 2),
    "out_indices": (0, 2),
    "window_size": 4,
}


@pytest.fixture(scope="module")
def network():
    return build_network(model={"backbone": BACKBONE})


def test_the_planes_are_the_channels_of_the_backbones_maps(network):
    figure = draw_features(network, PICTURE, channels=[3, 1])
    with torch.no_grad():
        maps = network.backbone(network.norm(PICTURE.pixels))
    planes = [axes.images[0].get_array() for axes in figure.axes[1:]]
    for number, one in enumerate(maps):
        colours, *single = planes[3 * number : 3 * number + 3]
        assert colours.shape == (*one.shape[-2:], 3)
        assert [np.array_equal(p, one[0, c]) for p, c in zip(single, (3, 1), strict=True)] == [
            True,
            True,
        ]


def test_what_lies_beyond_the_picture_is_cut_off(network):
    last = draw_features(network, PICTURE).axes[-1]
    assert last.get_xlim() == (0, 90 / 16)
    assert last.get_ylim() == (60 / 16, 0)


def test_three_directions_hold_all_of_what_has_three():
    torch.manual_seed(0)
    features = torch.einsum("ck,khw->chw", torch.randn(9, 3), torch.randn(3, 5, 7))
    colours, held = principal_colours(features)
    assert held == pytest.approx(1)
    assert colours.shape == (5, 7, 3)
    assert 0 <= colours.min() < 0.01 and 0.99 < colours.max() <= 1


def test_the_first_direction_is_the_strongest():
    features = torch.zeros(4, 1, 8)
    features[2, 0] = torch.arange(8.0)
    features[1, 0] = 0.1 * torch.tensor([1.0, -1, 1, -1, 1, -1, 1, -1])
    colours, _ = principal_colours(features)
    assert (np.diff(colours[0, :, 0]) >= 0).all()  # red grows with channel 2


@pytest.mark.parametrize("shape", [(2, 3, 4), (8, 1, 1), (1, 1, 2)])
def test_maps_of_few_channels_or_tokens_have_colours(shape):
    colours, _ = principal_colours(torch.ones(shape))
    assert colours.shape == (*shape[1:], 3)
    assert np.isfinite(colours).all()


def test_channels_that_vary_most_come_first():
    features = torch.tensor([0.0, 3, 1, 2])[:, None, None] * torch.randn(4, 6, 6)
    assert most_varied(features, 3) == [1, 3, 2]


def test_a_channel_that_is_not_there_is_refused(network):
    with pytest.raises(DrawingError, match=r"--channels must be 0 to 3: .* got 4, -1"):
        draw_features(network, PICTURE, channels=[0, 4, -1])
