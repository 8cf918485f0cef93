"""Pictures of what the network does with a map, drawn from the modules and plans themselves."""

from swin_mm.visualization.attention import draw_attention
from swin_mm.visualization.attention_weights import attention_weights, record_attention
from swin_mm.visualization.bias import draw_bias
from swin_mm.visualization.errors import DrawingError
from swin_mm.visualization.features import draw_features
from swin_mm.visualization.figures import FIGURES, Wish, draw_figure
from swin_mm.visualization.masks import draw_masks
from swin_mm.visualization.merging import draw_merging
from swin_mm.visualization.network import Network, build_network
from swin_mm.visualization.padding import draw_padding
from swin_mm.visualization.picture import Picture, read_picture
from swin_mm.visualization.position import draw_position_bias
from swin_mm.visualization.receptive_field import draw_receptive_fields, receptive_fields
from swin_mm.visualization.save import check_out, write_png
from swin_mm.visualization.stages import draw_stages
from swin_mm.visualization.windows import draw_windows

__all__ = [
    "FIGURES",
    "DrawingError",
    "Network",
    "Picture",
    "Wish",
    "attention_weights",
    "build_network",
    "check_out",
    "draw_attention",
    "draw_bias",
    "draw_features",
    "draw_figure",
    "draw_masks",
    "draw_merging",
    "draw_padding",
    "draw_position_bias",
    "draw_receptive_fields",
    "draw_stages",
    "draw_windows",
    "read_picture",
    "receptive_fields",
    "record_attention",
    "write_png",
]
