import pytest
import torch

from swin_mm import SwinClassifier, SwinTransformer, count_flops

# Version, variant, window, side px; multiply-adds in G and parameters in M, head included (Liu et
# al. 2021, tables 1 and A1; Liu et al. 2022; the repository's model zoo). The authors' windows are
# no larger than a map.
PUBLISHED = [
    (1, "tiny", 7, 224, 4.5, 28.3),
    (1, "small", 7, 224, 8.7, 49.6),
    (1, "base", 7, 224, 15.4, 87.8),
    (1, "base", 12, 384, 47.1, 87.9),
    (1, "large", 7, 224, 34.5, 196.5),
    (1, "large", 12, 384, 103.9, 196.7),
    (2, "tiny", 8, 256, 5.9, 28),
    (2, "small", 8, 256, 11.5, 50),
    (2, "base", 8, 256, 20.3, 88),
    (2, "tiny", (16, 16, 16, 8), 256, 6.6, 28),
    (2, "small", (16, 16, 16, 8), 256, 12.6, 50),
    (2, "base", (16, 16, 16, 8), 256, 21.8, 88),
    (2, "large", (16, 16, 16, 8), 256, 47.5, 197),
    (2, "large", (24, 24, 24, 12), 384, 115.4, 197),
]


@pytest.mark.parametrize(
    ("version", "variant", "window", "side", "flops", "parameters"), PUBLISHED, ids=str
)
def test_flops_and_parameters_are_the_published_ones(
    version, variant, window, side, flops, parameters
):
    with torch.device("meta"):
        model = SwinClassifier(version=version, variant=variant, window_size=window)
    counted = count_flops(model, (1, 3, side, side))[""]
    own = sum(p.numel() for p in model.parameters())
    # The second version's parameters are published to the million, its products rounded down.
    assert counted / 1e9 == pytest.approx(flops, rel=0.01 if version == 1 else 0.02)
    assert own / 1e6 == pytest.approx(parameters, rel=0.002, abs=0.5 * (version == 2))


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_products_are_as_many_in_every_dtype(dtype):
    model = SwinTransformer(
        embed_dims=8, depths=(1, 1), num_heads=(2, 2), strides=(4, 2), out_indices=(1,)
    )
    counted = count_flops(model, (1, 3, 28, 28))
    assert count_flops(model.to(dtype), (1, 3, 28, 28)) == counted
