"""Weight files: read them safely, whoever wrote them; write them whole."""

from swin_mm.checkpoints.classifier import load_classifier
from swin_mm.checkpoints.convert import TARGETS, Conversion, convert
from swin_mm.checkpoints.describe import Description, describe
from swin_mm.checkpoints.detect import Found, detect
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats import LAYOUTS
from swin_mm.checkpoints.hook import adapt_on_load
from swin_mm.checkpoints.load import adapt_state_dict, load_pretrained
from swin_mm.checkpoints.read import read_checkpoint
from swin_mm.checkpoints.report import Dropped, LoadReport, Resized
from swin_mm.checkpoints.save import save_checkpoint
from swin_mm.checkpoints.write import to_layout

__all__ = [
    "LAYOUTS",
    "TARGETS",
    "CheckpointError",
    "Conversion",
    "Description",
    "Dropped",
    "Found",
    "LoadReport",
    "Resized",
    "adapt_on_load",
    "adapt_state_dict",
    "convert",
    "describe",
    "detect",
    "load_classifier",
    "load_pretrained",
    "read_checkpoint",
    "save_checkpoint",
    "to_layout",
]
