import pytest
import torch
import torch.nn.functional as F

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.resize import (
    adapt_in_channels,
    flatten_position_embedding,
    resize_bias_table,
    resize_embedding,
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
