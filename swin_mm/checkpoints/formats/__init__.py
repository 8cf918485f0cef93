"""One table for each published layout."""

from swin_mm.checkpoints.formats.layout import Layout, Place, Row, TensorRule
from swin_mm.checkpoints.formats.microsoft import MICROSOFT, MICROSOFT_DENSE
from swin_mm.checkpoints.formats.openmmlab import OPENMMLAB

LAYOUTS = {layout.name: layout for layout in (OPENMMLAB, MICROSOFT, MICROSOFT_DENSE)}

__all__ = ["LAYOUTS", "Layout", "Place", "Row", "TensorRule"]
