"""Prediction on pictures: what a trained detector or segmentor finds, drawn and written down."""

from swin_mm.inference.classes import Classes, classes_of
from swin_mm.inference.errors import InferenceError, PictureError
from swin_mm.inference.folder import Outcome, infer, require_room
from swin_mm.inference.model import load_model
from swin_mm.inference.pictures import Picture, find_pictures, read_picture
from swin_mm.inference.predictor import Predictor

__all__ = [
    "Classes",
    "InferenceError",
    "Outcome",
    "Picture",
    "PictureError",
    "Predictor",
    "classes_of",
    "find_pictures",
    "infer",
    "load_model",
    "read_picture",
    "require_room",
]
