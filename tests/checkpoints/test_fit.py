import pytest
import torch

from swin_mm.checkpoints import CheckpointError, load_pretrained
from swin_mm.checkpoints.resize import (
    adapt_in_channels,
    resize_bias_table,
    resize_embedding,
    resize_patches,
)

TABLE = "stages.0.blocks.0.attn.w_msa.relative_position_bias_table"


def table_of(model):
    return model.get_parameter(TABLE)


@pytest.mark.parametrize("window", [(5, 5), (2, 2), (3, 4)])
def test_tables_come_to_the_models_window(build, window):
    source, model = build(seed=1), build(seed=2, window_size=window)
    report = load_pretrained(model, source.state_dict())
    wanted = resize_bias_table(table_of(source), (3, 3), window)
    assert torch.equal(table_of(model), wanted)
    assert len(report.resized) == 8
    assert report.resized[0].before == (25, 1)
    assert report.resized[0].how == f"window 3x3 -> {window[0]}x{window[1]}"
    assert all(bool(out.isfinite().all()) for out in model(torch.randn(1, 3, 30, 41)))


def test_each_stage_has_its_own_window(build):
    model = build(window_size=(5, 3, 2))
    report = load_pretrained(model, build(seed=1).state_dict())
    assert {entry.how for entry in report.resized} == {"window 3x3 -> 5x5", "window 3x3 -> 2x2"}


def test_tables_of_one_shape_but_other_windows_are_told_apart(build):
    source, model = build(seed=1, window_size=(2, 4)), build(seed=2, window_size=(4, 2))
    assert table_of(source).shape == table_of(model).shape
    load_pretrained(model, source.state_dict())
    assert torch.equal(table_of(model), resize_bias_table(table_of(source), (2, 4), (4, 2)))


def test_an_oblong_table_without_its_index_is_refused(build):
    state = build(window_size=(2, 4)).state_dict()
    state = {name: tensor for name, tensor in state.items() if not name.endswith("_index")}
    with pytest.raises(CheckpointError, match=rf"{TABLE}: .*fits .*2x4"):
        load_pretrained(build(), state)


def test_the_models_index_stays(build):
    model = build(window_size=5)
    load_pretrained(model, build().state_dict())
    assert model.stages[0].blocks[0].attn.w_msa.relative_position_index.shape == (25, 25)


def test_an_embedding_comes_to_the_models_grid(build):
    ape = {"use_abs_pos_embed": True}
    source = build(seed=1, pretrain_img_size=16, **ape)
    model = build(seed=2, pretrain_img_size=(20, 28), **ape)
    report = load_pretrained(model, source.state_dict())
    wanted = resize_embedding(source.absolute_pos_embed, (4, 4), (5, 7))
    assert torch.equal(model.absolute_pos_embed, wanted)
    assert [entry.how for entry in report.resized] == ["position embedding 4x4 -> 5x7"]


def test_an_image_of_positions_turned_sideways_is_resized(build):
    model = build(use_abs_pos_embed=True, pretrain_img_size=(16, 24))
    image, state = torch.randn(1, 8, 6, 4), build().state_dict()
    load_pretrained(model, {**state, "absolute_pos_embed": image})
    wanted = resize_embedding(image.flatten(2).mT, (6, 4), (4, 6))
    assert torch.equal(model.absolute_pos_embed, wanted)


def test_an_oblong_embedding_of_unknown_grid_is_refused(build):
    state = {**build().state_dict(), "absolute_pos_embed": torch.zeros(1, 24, 8)}
    with pytest.raises(CheckpointError, match="use_abs_pos_embed, pretrain_img_size"):
        load_pretrained(build(use_abs_pos_embed=True, pretrain_img_size=20), state)


@pytest.mark.parametrize("channels", [1, 4, 6])
def test_the_patch_convolution_comes_to_the_models_channels(build, channels):
    source, model = build(seed=1), build(seed=2, in_channels=channels)
    report = load_pretrained(model, source.state_dict())
    wanted = adapt_in_channels(source.patch_embed.projection.weight, channels)
    assert torch.equal(model.patch_embed.projection.weight, wanted)
    assert [entry.how for entry in report.resized] == [f"in_channels 3 -> {channels}"]


def test_channels_that_are_no_colours_have_no_rule(build):
    with pytest.raises(CheckpointError, match="in_channels"):
        load_pretrained(build(), build(in_channels=4).state_dict())


@pytest.mark.parametrize("channels", [3, 5])
def test_the_patch_convolution_comes_to_the_models_patch(build, channels):
    source = build(seed=1)
    model = build(seed=2, patch_size=(2, 8), strides=((2, 8), 2, 2), in_channels=channels)
    report = load_pretrained(model, source.state_dict())
    weight = source.patch_embed.projection.weight
    weight = weight if channels == 3 else adapt_in_channels(weight, channels)
    wanted = resize_patches(weight, (2, 8))
    assert torch.equal(model.patch_embed.projection.weight, wanted)
    said = "patch 4x4 -> 2x8 px"
    said = said if channels == 3 else f"in_channels 3 -> {channels}, {said}"
    assert [entry.how for entry in report.resized] == [said]
