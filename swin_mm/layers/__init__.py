"""The network's modules. They import torch and :mod:`swin_mm.ops` alone."""

from swin_mm.layers.attention import AttentionFactory, ShiftedWindowAttention, WindowAttention
from swin_mm.layers.block import BlockOptions, SwinBlock, SwinStage
from swin_mm.layers.cosine_attention import CosineWindowAttention
from swin_mm.layers.ffn import FFN
from swin_mm.layers.patch import PatchEmbed, PatchMerging
from swin_mm.layers.position import ContinuousPositionBias, PositionBias, RelativePositionBias
from swin_mm.layers.stochastic_depth import DropPath

__all__ = [
    "FFN",
    "AttentionFactory",
    "BlockOptions",
    "ContinuousPositionBias",
    "CosineWindowAttention",
    "DropPath",
    "PatchEmbed",
    "PatchMerging",
    "PositionBias",
    "RelativePositionBias",
    "ShiftedWindowAttention",
    "SwinBlock",
    "SwinStage",
    "WindowAttention",
]
