"""The networks as MMEngine's modules, registered under the scope ``swin_mm``."""

from swin_mm.backbones.flops import count_flops
from swin_mm.backbones.swin import SwinTransformer
from swin_mm.backbones.variants import VARIANTS, Variant

__all__ = ["VARIANTS", "SwinTransformer", "Variant", "count_flops"]
