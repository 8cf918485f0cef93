import pytest
import torch
from torch import nn

from swin_mm import SwinTransformer, count_flops

# Multiply-adds in G at the side given, px, and parameters in M, heads included (Liu et al. 2021,
# tables 1 and A1; the repository's model zoo). The head adds 1000 x channels.
PUBLISHED = [
    ("tiny", 7, 224, 4.5, 28.3),
    ("small", 7, 224, 8.7, 49.6),
    ("base", 7, 224, 15.4, 87.8),
    ("base", 12, 384, 47.1, 87.9),
    ("large", 7, 224, 34.5, 196.5),
    ("large", 12, 384, 103.9, 196.7),
]


@pytest.mark.parametrize(("variant", "window", "side", "flops", "parameters"), PUBLISHED)
def test_flops_and_parameters_are_the_published_ones(variant, window, side, flops, parameters):
    with torch.device("meta"):
        model = SwinTransformer(variant=variant, window_size=window, out_indices=(3,))
        head = nn.Linear(model.out_channels[0], 1000)
    counted = count_flops(model, (1, 3, side, side))[""] + head.weight.numel()
    own = sum(p.numel() for module in (model, head) for p in module.parameters())
    assert counted / 1e9 == pytest.approx(flops, rel=0.01)
    assert own / 1e6 == pytest.approx(parameters, rel=0.002)


def test_modules_add_up_to_the_whole_attention_included():
    model = SwinTransformer(
        embed_dims=8, depths=(1,), num_heads=(2,), strides=(4,), out_indices=(0,)
    )
    counted = count_flops(model, (1, 3, 28, 28))
    tokens, channels = 49, 8
    linear = tokens * channels**2
    assert counted["patch_embed"] == tokens * 3 * 16 * channels
    assert counted["stages.0.blocks.0.attn.w_msa.qkv"] == 3 * linear
    attention = 2 * tokens**2 * channels
    assert counted["stages.0.blocks.0.attn"] == 4 * linear + attention
    assert counted["stages.0.blocks.0.ffn"] == 8 * linear
    assert counted[""] == counted["patch_embed"] + counted["stages.0"]


def test_padding_is_counted():
    model = SwinTransformer(
        embed_dims=8, depths=(1,), num_heads=(2,), strides=(4,), out_indices=(0,)
    )
    whole = count_flops(model, (1, 3, 56, 56))["stages.0.blocks.0.attn"]
    padded = count_flops(model, (1, 3, 32, 32))["stages.0.blocks.0.attn"]
    assert padded == whole  # 8 x 8 tokens pad to 14 x 14


def test_counting_leaves_the_model_as_it_was():
    model = SwinTransformer(
        embed_dims=8, depths=(1, 1), num_heads=(2, 2), strides=(4, 2), out_indices=(1,)
    )
    count_flops(model, (1, 3, 28, 28))
    assert model.training
    assert all(parameter.device.type == "cpu" for parameter in model.parameters())
