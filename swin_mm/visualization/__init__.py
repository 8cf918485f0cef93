"""Pictures of what the network does with a map, drawn from the modules and plans themselves."""

from swin_mm.visualization.masks import draw_masks
from swin_mm.visualization.merging import draw_merging
from swin_mm.visualization.padding import draw_padding
from swin_mm.visualization.position import draw_position_bias
from swin_mm.visualization.windows import draw_windows

__all__ = ["draw_masks", "draw_merging", "draw_padding", "draw_position_bias", "draw_windows"]
