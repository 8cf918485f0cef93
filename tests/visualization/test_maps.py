import numpy as np
import pytest
import torch

from swin_mm import SwinTransformer
from swin_mm.visualization.maps import map_of, over_tokens, plan_of


@pytest.mark.parametrize("strides", [(4, 2, 2), (4, 2, 1)])
@pytest.mark.parametrize("size", [(1, 1), (33, 50), (64, 96), (97, 31)])
def test_a_map_is_as_large_as_the_networks(size, strides):
    net = SwinTransformer(
        embed_dims=4, depths=(1, 1, 1), num_heads=(1, 1, 1), strides=strides, out_indices=(0, 1, 2),
        window_size=2,
    )  # fmt: skip
    with torch.no_grad():
        maps = net(torch.rand(1, 3, *size))
    for stage, one in enumerate(maps):
        tokens, stride = map_of(net, size, stage)
        assert tokens == tuple(one.shape[-2:])
        assert stride == (net.out_strides[stage],) * 2


def test_a_plan_is_that_of_the_block():
    net = SwinTransformer(
        embed_dims=4, depths=(2,), num_heads=(1,), strides=(4,), out_indices=(0,), window_size=4,
        small_maps="still",
    )  # fmt: skip
    still, shifted = net.stages[0].blocks
    assert plan_of(still, (9, 4)).shift == (0, 0)
    assert plan_of(shifted, (9, 4)).shift == (2, 0)


def test_what_the_last_tokens_have_beyond_the_picture_is_white():
    picture = np.zeros((20, 40, 3), np.uint8)
    fitted = over_tokens(picture, (2, 3), (16, 16), long_side=48)
    assert fitted.shape == (32, 48, 3)
    assert (fitted[:20, :40] == 0).all()
    assert (fitted[20:] == 255).all()
    assert (fitted[:, 40:] == 255).all()
