"""Scenes in the layout of ADE20K's scene parsing benchmark (150 classes)."""

_ROOT = "ADEChallengeData2016"
_PLACES = {"train": ("training", "ADE_train"), "val": ("validation", "ADE_val")}
FOLDERS = tuple(
    f"{_ROOT}/{what}/{place}" for what in ("images", "annotations") for place, _ in _PLACES.values()
)


def picture_file(split: str, image_id: int) -> str:
    """Where a picture of 'train' or 'val' lies, from the root of the data set."""
    place, stem = _PLACES[split]
    return f"{_ROOT}/images/{place}/{stem}_{image_id:08d}.jpg"


def label_file(split: str, image_id: int) -> str:
    """Where the labels of a picture lie: one value a pixel, 1..150, 0 for not labelled."""
    place, stem = _PLACES[split]
    return f"{_ROOT}/annotations/{place}/{stem}_{image_id:08d}.png"
