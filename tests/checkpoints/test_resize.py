import numpy as np
import pytest
import torch
import torch.nn.functional as F

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.resize import (
    adapt_in_channels,
    flatten_position_embedding,
    resize_bias_table,
    resize_embedding,
    resize_patches,
    window_of,
)
from swin_mm.ops import relative_position_index


@pytest.mark.parametrize("window", [(7, 7), (7, 14), (14, 7), (1, 1), (2, 5)])
def test_the_index_beside_a_table_tells_its_window(window):
    mh, mw = window
    table = torch.zeros((2 * mh - 1) * (2 * mw - 1), 3)
    assert window_of(table, relative_position_index(window)) == window


def test_a_square_table_tells_its_window_alone():
    assert window_of(torch.zeros(169, 3), None) == (7, 7)


def test_an_oblong_table_alone_is_refused():
    with pytest.raises(CheckpointError, match="fits 1x176 and"):
        window_of(torch.zeros(13 * 27, 3), None)


@pytest.mark.parametrize("rows", [168, 0, 10**15 + 1])
def test_a_table_of_no_window_is_refused(rows):
    with pytest.raises(CheckpointError, match="fits no window"):
        window_of(torch.zeros(1, 3).expand(rows, 3) if rows else torch.zeros(0, 3), None)


def test_a_table_is_resized_over_its_offsets_head_by_head():
    table = torch.randn(5 * 9, 2)
    resized = resize_bias_table(table, (3, 5), (4, 2))
    for head in range(2):
        plane = table[:, head].view(1, 1, 5, 9)
        wanted = F.interpolate(plane, (7, 3), mode="bicubic", align_corners=False)
        assert torch.equal(resized[:, head], wanted.flatten())


def test_offset_zero_stays_in_the_middle():
    table = torch.zeros(5 * 5, 1)
    table[12] = 1.0
    resized = resize_bias_table(table, (3, 3), (5, 7))
    assert resized.argmax() == 9 * 13 // 2


def test_half_precision_is_resized_in_float32():
    table = torch.randn(25, 2)
    resized = resize_bias_table(table.half(), (3, 3), (2, 2))
    assert resized.dtype == torch.float32
    assert torch.equal(resized, resize_bias_table(table.half().float(), (3, 3), (2, 2)))


def test_an_embedding_is_flattened_row_after_row():
    image = torch.arange(6.0).view(1, 1, 2, 3)
    embedding, grid = flatten_position_embedding(image)
    assert embedding.flatten().tolist() == [0, 1, 2, 3, 4, 5] and grid == (2, 3)


def test_the_grid_of_a_flat_embedding_is_told_if_square():
    assert flatten_position_embedding(torch.zeros(1, 9, 2))[1] == (3, 3)
    assert flatten_position_embedding(torch.zeros(1, 8, 2))[1] is None


def test_an_embedding_is_resized_over_its_grid():
    embedding = torch.randn(1, 6, 4)
    image = embedding.mT.view(1, 4, 2, 3)
    wanted = F.interpolate(image, (5, 2), mode="bicubic", align_corners=False)
    resized = resize_embedding(embedding, (2, 3), (5, 2))
    assert torch.equal(resized, wanted.flatten(2).mT)


def test_a_grey_picture_gives_what_its_colour_version_gave():
    weight, grey = torch.randn(4, 3, 2, 2), torch.randn(1, 1, 6, 6)
    wanted = F.conv2d(grey.expand(-1, 3, -1, -1), weight, stride=2)
    assert torch.allclose(F.conv2d(grey, adapt_in_channels(weight, 1), stride=2), wanted, atol=1e-5)


@pytest.mark.parametrize("channels", [2, 4, 6, 9])
def test_other_channels_repeat_the_colours_at_the_same_scale(channels):
    weight = torch.ones(4, 3, 2, 2) * torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1)
    adapted = adapt_in_channels(weight, channels)
    assert adapted.shape == (4, channels, 2, 2)
    wanted = torch.tensor([1.0, 2.0, 3.0] * 3)[:channels] * 3 / channels
    assert torch.equal(adapted[0, :, 0, 0], wanted)


def published_table(plane, side, target):
    """Enlarge one head's offsets, a square window, as SimMIM's paper code describes it.

    Positions by its bisection; the spline by a solve for its coefficients, in another basis.
    """
    low, high = 1.01, 1.5
    while high - low > 1e-12:
        q = (low + high) / 2
        low, high = (low, q) if (1 - q ** (side - 1)) / (1 - q) > target - 1 else (q, high)
    places, at = [], 1.0
    for step in range(1, side):
        places.append(at)
        at += q**step
    places = np.array([-place for place in reversed(places)] + [0.0] + places)
    wanted = np.clip(np.arange(1 - target, target), places[0], places[-1])
    scale = places[-1]

    def basis(x):
        knots = places[2:-2] / scale
        powers = [(x / scale) ** power for power in range(4)]
        return np.stack(powers + [np.clip(x / scale - knot, 0, None) ** 3 for knot in knots], 1)

    matrix = basis(wanted) @ np.linalg.inv(basis(places))
    return matrix @ plane @ matrix.T


@pytest.mark.parametrize(("side", "target"), [(7, 12), (7, 24), (12, 16), (3, 4)])
def test_geometric_enlarging_is_the_published_one(side, target):
    table = torch.randn((2 * side - 1) ** 2, 2, dtype=torch.float64)
    resized = resize_bias_table(table, (side, side), (target, target), method="geometric")
    for head in range(2):
        plane = table[:, head].view(2 * side - 1, -1).numpy()
        wanted = torch.from_numpy(published_table(plane, side, target)).flatten()
        assert torch.allclose(resized[:, head], wanted, atol=1e-6)


@pytest.mark.parametrize("window", [(7, 7), (3, 5), (1, 2), (1, 1)])
def test_geometric_at_the_same_window_changes_nothing(window):
    table = torch.randn((2 * window[0] - 1) * (2 * window[1] - 1), 3)
    assert torch.equal(resize_bias_table(table, window, window, method="geometric"), table)


def test_geometric_keeps_the_next_offset_where_it_was():
    table = torch.randn(13 * 13, 2)
    old = table.view(13, 13, 2)
    new = resize_bias_table(table, (7, 7), (12, 9), method="geometric").view(23, 17, 2)
    assert torch.allclose(new[10:13, 7:10], old[5:8, 5:8], atol=1e-6)
    assert torch.allclose(new[[0, 0, -1, -1], [0, -1, 0, -1]], old[[0, 0, -1, -1], [0, -1, 0, -1]])


def test_geometric_takes_for_each_axis_its_own_window():
    table = torch.randn(5 * 13, 2)
    resized = resize_bias_table(table, (3, 7), (5, 4), method="geometric").view(9, 7, 2)
    rows = resize_bias_table(table, (3, 7), (5, 7), method="geometric").view(9, 13, 2)
    assert torch.equal(resized, rows[:, 3:10])


def test_geometric_in_a_smaller_window_takes_the_offsets_that_it_has():
    table = torch.randn(9 * 9, 2)
    smaller = resize_bias_table(table, (5, 5), (3, 2), method="geometric")
    assert torch.equal(smaller, table.view(9, 9, 2)[2:7, 3:6].reshape(15, 2))


@pytest.mark.parametrize("window", [(1, 1), (2, 2), (1, 2)])
def test_geometric_holds_the_last_value_where_steps_cannot_reach(window):
    rows = (2 * window[0] - 1) * (2 * window[1] - 1)
    table = torch.randn(rows, 2)
    resized = resize_bias_table(table, window, (6, 6), method="geometric")
    assert torch.equal(resized[0], table[0]) and torch.equal(resized[-1], table[-1])
    assert torch.equal(resized[60], table[rows // 2])


def test_an_unknown_method_is_refused():
    with pytest.raises(CheckpointError, match="bicubic or geometric, got 'cubic'"):
        resize_bias_table(torch.zeros(25, 2), (3, 3), (2, 2), method="cubic")


PATCHES = [(8, 8), (6, 4), (5, 7), (16, 4)]


@pytest.mark.parametrize("patch", PATCHES)
def test_a_larger_kernel_answers_to_enlarged_patches_as_the_old_one_did(patch):
    weight, patches = torch.randn(5, 3, 4, 4), torch.randn(6, 3, 4, 4)
    larger = F.interpolate(patches, patch, mode="bilinear")
    wanted = F.conv2d(patches, weight)
    assert torch.allclose(F.conv2d(larger, resize_patches(weight, patch)), wanted, atol=1e-4)


@pytest.mark.parametrize("patch", [(2, 2), (3, 4), (1, 2)])
def test_a_smaller_kernel_answers_as_the_old_one_to_the_patch_enlarged(patch):
    weight, patches = torch.randn(5, 3, 4, 4), torch.randn(6, 3, *patch)
    wanted = F.conv2d(F.interpolate(patches, (4, 4), mode="bilinear"), weight)
    assert torch.allclose(F.conv2d(patches, resize_patches(weight, patch)), wanted, atol=1e-4)


@pytest.mark.parametrize("patch", PATCHES)
def test_enlarging_a_kernel_and_coming_back_changes_nothing(patch):
    weight = torch.randn(5, 3, 4, 4, dtype=torch.float64)
    assert torch.allclose(resize_patches(resize_patches(weight, patch), (4, 4)), weight)


@pytest.mark.parametrize("patch", [*PATCHES, (2, 3), (4, 4)])
def test_a_picture_of_one_colour_is_answered_as_before(patch):
    weight = torch.randn(5, 3, 4, 4)
    assert torch.allclose(resize_patches(weight, patch).sum((2, 3)), weight.sum((2, 3)), atol=1e-4)


def test_a_kernel_of_the_same_size_stays_as_it_is():
    weight = torch.randn(5, 3, 4, 2)
    assert torch.equal(resize_patches(weight, (4, 2)), weight)


def test_an_enlarged_kernel_is_the_least_that_answers_so():
    weight = torch.randn(1, 1, 2, 1, dtype=torch.float64)
    enlarging = F.interpolate(torch.eye(2, dtype=torch.float64)[:, None], 5, mode="linear")[:, 0]
    wanted = torch.linalg.lstsq(enlarging, weight[0, 0], driver="gelsd").solution
    assert torch.allclose(resize_patches(weight, (5, 1))[0, 0], wanted)


def test_half_precision_kernels_are_resized_in_float32():
    weight = torch.randn(2, 3, 4, 4).half()
    assert torch.equal(resize_patches(weight, (8, 8)), resize_patches(weight.float(), (8, 8)))
