"""Networks as files that run without this package: torch.export, ONNX, OpenVINO."""

from swin_mm.export.compare import Comparison, Row
from swin_mm.export.description import Description, Pixels
from swin_mm.export.errors import ExportError, MismatchError
from swin_mm.export.exporting import SUFFIXES, TARGETS, Exported, export
from swin_mm.export.load import load_part
from swin_mm.export.parts import PARTS, Features, Segmentor, take_part

__all__ = [
    "PARTS",
    "SUFFIXES",
    "TARGETS",
    "Comparison",
    "Description",
    "ExportError",
    "Exported",
    "Features",
    "MismatchError",
    "Pixels",
    "Row",
    "Segmentor",
    "export",
    "load_part",
    "take_part",
]
