"""Swin Transformer as a dense-prediction backbone for MMEngine, MMDetection and MMSegmentation."""

try:
    import mmengine  # noqa: F401
except ImportError as error:
    raise ImportError(
        "swin_mm needs MMEngine, and works with either distribution of OpenMMLab: "
        'pip install "swin_mm[onedl]" (maintained forks) or pip install "swin_mm[openmmlab]"'
    ) from error

from swin_mm.backbones import (
    VARIANTS,
    SwinClassifier,
    SwinTransformer,
    SwinTransformerV2,
    count_flops,
)
from swin_mm.layers import RelativePositionBias
from swin_mm.ops import WindowPlan, attention_report

__version__ = "0.1.0"

__all__ = [
    "VARIANTS",
    "RelativePositionBias",
    "SwinClassifier",
    "SwinTransformer",
    "SwinTransformerV2",
    "WindowPlan",
    "__version__",
    "attention_report",
    "count_flops",
]
