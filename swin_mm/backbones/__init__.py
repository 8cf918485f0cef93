"""The networks as MMEngine's modules, registered under the scope ``swin_mm``."""

from swin_mm.backbones.classifier import SwinClassifier
from swin_mm.backbones.flops import count_flops
from swin_mm.backbones.swin import SwinTransformer
from swin_mm.backbones.swin_v2 import SwinTransformerV2
from swin_mm.backbones.variants import VARIANTS, Variant

__all__ = [
    "VARIANTS",
    "SwinClassifier",
    "SwinTransformer",
    "SwinTransformerV2",
    "Variant",
    "count_flops",
]
