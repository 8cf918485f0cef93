"""Hypothesis strategies: options of small networks, both versions, and pictures for them."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

import swin_mm

KINDS = {1: swin_mm.SwinTransformer, 2: swin_mm.SwinTransformerV2}
MEMORY = ["contiguous", "channels last", "every second pixel", "one row for all", "turned"]


@st.composite
def options(draw: st.DrawFn) -> tuple[int, dict[str, Any]]:
    """A version and all arguments that its numbers depend on, written out."""
    version = draw(st.sampled_from([1, 2]))
    stages = draw(st.integers(1, 3))
    embed_dims = draw(st.sampled_from([4, 6, 8, 12]))
    side = st.integers(1, 5)
    given = {
        "in_channels": draw(st.integers(1, 4)),
        "embed_dims": embed_dims,
        "patch_size": (draw(side), draw(side)),
        "depths": tuple(draw(st.integers(1, 2)) for _ in range(stages)),
        "num_heads": tuple(
            draw(st.sampled_from(divisors(embed_dims * 2**stage))) for stage in range(stages)
        ),
        "window_size": [(draw(side), draw(side)) for _ in range(stages)],
        "mlp_ratio": draw(st.sampled_from([1, 2, 0.5, 1.7])),
        "out_indices": sorted(draw(st.sets(st.integers(0, stages - 1), min_size=1))),
        "qkv_bias": draw(st.booleans()),
        "patch_norm": draw(st.booleans()),
        "use_abs_pos_embed": draw(st.booleans()),
        "act_cfg": {"type": draw(st.sampled_from(["GELU", "GELU", "ReLU", "SiLU", "Tanh"]))},
        "norm_cfg": {
            "type": draw(st.sampled_from(["LN", "LN", "LN", "RMSNorm"])),
            "eps": draw(st.sampled_from([1e-5, 1e-3])),
            "elementwise_affine": draw(st.booleans()),
        },
        "mask_padding": draw(st.booleans()),
        "small_maps": draw(st.sampled_from(["shift", "still"])),
        "channels_last": draw(st.booleans()),
        "with_cp": draw(st.booleans()),
        "frozen_stages": draw(st.sampled_from([-1, -1, -1, 0, 1])),
    }
    given["strides"] = (given["patch_size"], *(draw(st.integers(1, 3)) for _ in range(stages - 1)))
    given["pretrain_img_size"] = tuple(draw(st.integers(1, 4)) * p for p in given["patch_size"])
    if version == 1:
        given["qk_scale"] = draw(st.sampled_from([None, 0.3, 1.0]))
    else:
        given["pretrained_window_sizes"] = [
            (draw(st.integers(0, 5)), draw(st.integers(0, 5))) for _ in range(stages)
        ]
    return version, given


@st.composite
def sizes(
    draw: st.DrawFn, patch: tuple[int, int], *, batches: int = 3, tokens: int = 9
) -> tuple[int, int, int]:
    """Pictures of a batch, height and width, px; of a map of so many tokens a side at most."""
    tall, wide = (draw(st.integers(1, tokens * step)) for step in patch)
    return draw(st.integers(0 if batches > 1 else 1, batches)), tall, wide


def divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def build(version: int, given: Mapping[str, Any], seed: int = 0, **more: Any) -> torch.nn.Module:
    """A network of random weights that hide nothing, without dropout and stochastic depth."""
    net = KINDS[version](**given, drop_path_rate=0.0, **more)
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        parameter.data.normal_(std=0.4, generator=generator)
    return net


def pictures(size: tuple[int, int, int], channels: int, *, memory: str, seed: int = 0) -> Tensor:
    """Random pictures (B, channels, H, W) in float64, laid out in memory in one of many ways."""
    batch, height, width = size
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    if memory == "every second pixel":
        return drawn(batch, channels, 2 * height, 2 * width)[:, :, ::2, ::2]
    if memory == "one row for all":
        return drawn(batch, channels, 1, width).expand(-1, -1, height, -1)
    if memory == "turned":
        return drawn(width, height, channels, batch).permute(3, 2, 1, 0)
    x = drawn(batch, channels, height, width)
    return x.contiguous(memory_format=torch.channels_last) if memory == "channels last" else x


def worst(ours: Tensor, exact: Tensor) -> float:
    """Largest difference by the largest value; 0 for empty tensors."""
    if not exact.numel():
        return 0.0
    difference = (ours.double() - exact.double()).abs().max().item()
    return difference / max(exact.double().abs().max().item(), 1e-3) if difference else 0.0


def is_close(ours: Tensor, exact: Tensor, tolerance: float) -> bool:
    found = worst(ours, exact)
    return ours.shape == exact.shape and not math.isnan(found) and found <= tolerance
