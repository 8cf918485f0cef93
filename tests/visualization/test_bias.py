import numpy as np
import pytest
import torch

from swin_mm.visualization import DrawingError, build_network, draw_bias


def network_of(kind, **more):
    backbone = {
        "type": kind,
        "embed_dims": 8,
        "depths": (1, 1),
        "num_heads": (2, 4),
        "strides": (4, 2),
        "out_indices": (0, 1),
        "window_size": (3, 4),
        **more,
    }
    return build_network(model={"backbone": backbone})


@pytest.mark.parametrize("kind", ["SwinTransformer", "SwinTransformerV2"])
def test_pairs_and_tables_are_the_modules(kind):
    network = network_of(kind)
    module = network.backbone.stages[1].blocks[0].attn.w_msa
    figure = draw_bias(network, stage=1, block=0, head=2)
    _, index, table, pairs, *heads = figure.axes
    bias = module.bias().detach()
    assert np.array_equal(index.images[0].get_array(), module.relative_position_index)
    assert np.array_equal(pairs.images[0].get_array(), bias[2])
    shown = np.stack([axes.images[0].get_array() for axes in heads])
    assert shown.shape == (4, 5, 7)
    assert np.array_equal(shown[2], table.images[0].get_array())
    spread = torch.from_numpy(shown).flatten(1)[:, module.relative_position_index]
    assert torch.equal(spread, bias)


def test_a_v1_table_is_the_parameter():
    network = network_of("SwinTransformer")
    module = network.backbone.stages[0].blocks[0].attn.w_msa
    table = draw_bias(network, stage=0, block=0, head=1).axes[2].images[0].get_array()
    expected = module.relative_position_bias_table.detach()[:, 1].view(5, 7)
    assert np.array_equal(table, expected)


def test_v2_shows_the_offsets_that_its_network_is_given():
    network = network_of("SwinTransformerV2", pretrained_window_sizes=(6, 6))
    module = network.backbone.stages[0].blocks[0].attn.w_msa
    axes = draw_bias(network, stage=0, block=0).axes[0]
    linear, shown = (line.get_xydata() for line in axes.lines)
    assert shown[:, 0].tolist() == [-2, -1, 0, 1, 2]
    assert np.allclose(shown[:, 1], module.relative_coords_table[::7, 0])
    assert np.allclose(linear[:, 1], shown[:, 0] / 5)


def test_the_head_is_named_and_framed():
    figure = draw_bias(network_of("SwinTransformer"), stage=1, block=0, head=3)
    assert figure.axes[2].get_title(loc="left") == "Head 3's table, 5x7"
    assert [len(axes.patches) for axes in figure.axes[4:]] == [0, 0, 0, 2]


def test_a_head_that_is_not_there_is_refused():
    with pytest.raises(DrawingError, match="--head must be 0 to 1: stage 0 has 2 heads, got 2"):
        draw_bias(network_of("SwinTransformer"), stage=0, block=0, head=2)
