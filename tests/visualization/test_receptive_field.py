import numpy as np
import pytest
import torch

from swin_mm.visualization import build_network, draw_receptive_fields, receptive_fields
from swin_mm.visualization.receptive_field import side_holding

BACKBONE = {
    "type": "SwinTransformer",
    "embed_dims": 8,
    "depths": (1, 2),
    "num_heads": (1, 1),
    "strides": (4, 2),
    "out_indices": (0, 1),
    "window_size": 4,
}


@pytest.fixture(scope="module")
def network():
    return build_network(model={"backbone": BACKBONE})


def test_a_token_of_one_block_sees_exactly_its_window(network):
    field, _ = receptive_fields(network, [torch.randn(1, 3, 64, 64)], place=(20, 40))
    rows, columns = np.nonzero(field)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (16, 31, 32, 47)
    assert (field[16:32, 32:48] > 0).all()


def test_a_shifted_block_sees_across_the_borders_of_windows(network):
    _, field = receptive_fields(network, [torch.randn(1, 3, 96, 96)], place=(40, 40))
    # Tokens 2 to 5 in the shifted window; those were in the windows of 0 to 3 and 4 to 7 before.
    rows, columns = np.nonzero(field)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (0, 63, 0, 63)


def test_pixels_that_move_the_token_are_those_with_a_gradient(network):
    x = torch.randn(1, 3, 64, 64)
    field, _ = receptive_fields(network, [x], place=(20, 40))
    with torch.no_grad():
        before = network.backbone(x)[0][0, :, 5, 10]
        for y, column in ((20, 40), (16, 47), (15, 40), (20, 48)):
            moved = x.clone()
            moved[..., y, column] += 1
            after = network.backbone(moved)[0][0, :, 5, 10]
            assert bool((after != before).any()) == (field[y, column] > 0)


def test_fields_are_means_over_pictures(network):
    one, other = torch.randn(2, 1, 3, 32, 32)
    # Each picture is asked by its own signs: the second's are drawn after the first's.
    alone = receptive_fields(network, [one], place=(9, 9))
    both = receptive_fields(network, [one, other], place=(9, 9))
    assert all((2 * b >= a - 1e-12).all() for a, b in zip(alone, both, strict=True))
    assert not np.allclose(alone[0], both[0])


def test_frozen_parameters_do_not_keep_the_gradient_away():
    frozen = build_network(model={"backbone": {**BACKBONE, "frozen_stages": 2}})
    fields = receptive_fields(frozen, [torch.randn(1, 3, 32, 32)], place=(9, 9))
    assert all(field.max() > 0 for field in fields)
    assert all(p.grad is None for p in frozen.backbone.parameters())


def test_the_square_is_the_smallest_that_holds_the_share():
    field = np.zeros((9, 9))
    field[4, 4], field[4, 6], field[0, 0] = 5, 4, 1
    assert side_holding(field, 0.5, place=(4, 4)) == 1
    assert side_holding(field, 0.51, place=(4, 4)) == 5
    assert side_holding(field, 0.95, place=(4, 4)) == 9
    assert side_holding(field, 1.0, place=(4, 4)) == 9


def test_the_panels_tell_the_squares(network):
    inputs = [torch.randn(1, 3, 64, 64)]
    fields = receptive_fields(network, inputs, place=(32, 32))
    figure = draw_receptive_fields(network, inputs, place=(32, 32), of="1 picture")
    for axes, field in zip(figure.axes, fields, strict=False):
        text = axes.texts[0].get_text()
        assert text.startswith(f"50% within {side_holding(field, 0.5, place=(32, 32))} px\n")
        assert f"sees {(field > 0).mean():.0%} of 64x64 px" in text
