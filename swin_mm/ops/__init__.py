"""Functions on tensors: windows, masks, position bias, attention. They import torch alone."""

from swin_mm.ops.attention import (
    AttentionCase,
    attention_report,
    scaled_cosines,
    window_attention,
)
from swin_mm.ops.masks import Region, regions, window_masks
from swin_mm.ops.position import (
    log_spaced_offsets,
    relative_position_bias,
    relative_position_index,
    resize_position_embedding,
)
from swin_mm.ops.windows import WindowPlan, cut_windows, join_windows

__all__ = [
    "AttentionCase",
    "Region",
    "WindowPlan",
    "attention_report",
    "cut_windows",
    "join_windows",
    "log_spaced_offsets",
    "regions",
    "relative_position_bias",
    "relative_position_index",
    "resize_position_embedding",
    "scaled_cosines",
    "window_attention",
    "window_masks",
]
