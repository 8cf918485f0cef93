"""The network's modules. They import torch and :mod:`swin_mm.ops` alone."""

from swin_mm.layers.attention import ShiftedWindowAttention, WindowAttention
from swin_mm.layers.block import FFN, BlockOptions, SwinBlock, SwinStage
from swin_mm.layers.patch import PatchEmbed, PatchMerging
from swin_mm.layers.position import RelativePositionBias
from swin_mm.layers.stochastic_depth import DropPath

__all__ = [
    "FFN",
    "BlockOptions",
    "DropPath",
    "PatchEmbed",
    "PatchMerging",
    "RelativePositionBias",
    "ShiftedWindowAttention",
    "SwinBlock",
    "SwinStage",
    "WindowAttention",
]
