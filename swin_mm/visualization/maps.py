"""Where the maps of a network's stages lie over a picture."""

from __future__ import annotations

import cv2
import numpy as np

from swin_mm.backbones.body import SwinBody
from swin_mm.layers import SwinBlock
from swin_mm.ops import WindowPlan


def map_of(
    backbone: SwinBody, size: tuple[int, int], stage: int
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Tell the size of a stage's map, and how much of the picture is a token.

    Args:
        backbone: the network.
        size: height and width of the picture, px.
        stage: which, from 0 on.

    Returns:
        Rows and columns of the map, tokens; and height and width of a token, px.
    """
    stride = tuple(backbone.patch_embed.projection.stride)
    tokens = tuple(-(-side // step) for side, step in zip(size, stride, strict=True))
    for before in backbone.stages[:stage]:
        step = before.downsample.stride
        tokens = tuple(-(-side // step) for side in tokens)
        stride = tuple(side * step for side in stride)
    return tokens, stride


def plan_of(block: SwinBlock, tokens: tuple[int, int]) -> WindowPlan:
    """Plan the windows of a block as it does itself."""
    attention = block.attn
    return WindowPlan.of(
        tokens,
        attention.w_msa.window_size,
        shifted=attention.shifted,
        small_maps=attention.small_maps,
    )


def over_tokens(
    picture: np.ndarray, tokens: tuple[int, int], stride: tuple[int, int], *, long_side: int = 448
) -> np.ndarray:
    """Bring a picture to where each token of a map is a rectangle of whole pixels.

    The last tokens may reach beyond the picture, where the network sees padding: white here.

    Args:
        picture: (H, W, 3) uint8.
        tokens: rows and columns of the map.
        stride: height and width of a token, px.
        long_side: px of the result, about.
    """
    height, width = (number * step for number, step in zip(tokens, stride, strict=True))
    bottom, right = height - picture.shape[0], width - picture.shape[1]
    white = (255, 255, 255)
    whole = cv2.copyMakeBorder(
        picture, 0, max(bottom, 0), 0, max(right, 0), cv2.BORDER_CONSTANT, value=white
    )
    scale = max(long_side // max(tokens), 1)
    size = (tokens[1] * scale, tokens[0] * scale)
    return cv2.resize(whole, size, interpolation=cv2.INTER_AREA)
