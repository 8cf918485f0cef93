"""Prediction on pictures: what a trained detector or segmentor finds, drawn and written down."""

from swin_mm.inference.classes import Classes, classes_of
from swin_mm.inference.errors import InferenceError, PictureError
from swin_mm.inference.folder import Outcome, infer, require_room
from swin_mm.inference.instances import Instances
from swin_mm.inference.model import load_model
from swin_mm.inference.options import Options
from swin_mm.inference.pictures import Picture, find_pictures
from swin_mm.inference.prediction import Prediction, predict
from swin_mm.inference.predictor import Predictor
from swin_mm.inference.reading import read_picture

__all__ = [
    "Classes",
    "InferenceError",
    "Instances",
    "Options",
    "Outcome",
    "Picture",
    "PictureError",
    "Prediction",
    "Predictor",
    "classes_of",
    "find_pictures",
    "infer",
    "load_model",
    "predict",
    "read_picture",
    "require_room",
]
