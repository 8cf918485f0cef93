"""One table for each published layout."""

from swin_mm.checkpoints.formats.huggingface import (
    HUGGINGFACE,
    HUGGINGFACE_5,
    HUGGINGFACE_BACKBONE,
    HUGGINGFACE_V2,
)
from swin_mm.checkpoints.formats.layout import Layout, Place, Row, TensorRule
from swin_mm.checkpoints.formats.microsoft import (
    MICROSOFT,
    MICROSOFT_DENSE,
    MICROSOFT_DENSE_V2,
    MICROSOFT_V2,
)
from swin_mm.checkpoints.formats.openmmlab import MMPRETRAIN_V2, OPENMMLAB, OPENMMLAB_V2
from swin_mm.checkpoints.formats.timm import TIMM, TIMM_V2
from swin_mm.checkpoints.formats.torchvision import TORCHVISION, TORCHVISION_V2

_TABLES = (
    *(OPENMMLAB, OPENMMLAB_V2, MMPRETRAIN_V2),
    *(MICROSOFT, MICROSOFT_V2, MICROSOFT_DENSE, MICROSOFT_DENSE_V2),
    *(TIMM, TIMM_V2),
    *(TORCHVISION, TORCHVISION_V2),
    *(HUGGINGFACE, HUGGINGFACE_V2, HUGGINGFACE_BACKBONE, HUGGINGFACE_5),
)

LAYOUTS: dict[str, dict[int, Layout]] = {
    name: {table.version: table for table in _TABLES if table.name == name}
    for name in dict.fromkeys(table.name for table in _TABLES)
}
"""The tables by family and version of the network, ``LAYOUTS["timm"][2]``."""

__all__ = ["LAYOUTS", "Layout", "Place", "Row", "TensorRule"]
