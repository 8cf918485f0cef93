"""The rules that data must keep, as a table."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Level(enum.Enum):
    """How bad a fault is."""

    ERROR = "error"  # stops a training, or spoils it in silence
    LOSS = "loss"  # one record is lost or spoilt: an error where more than a few are
    NOTE = "note"  # read rightly, but worth knowing


@dataclass(frozen=True)
class Rule:
    """One rule that data must keep.

    Attributes:
        name: what reports call it.
        level: how bad it is to break it.
        text: the rule, and what happens to data that break it.
        cure: what to do.
    """

    name: str
    level: Level
    text: str
    cure: str


def _rules(level: Level, *rows: tuple[str, str, str]) -> Iterable[Rule]:
    return (Rule(name, level, text, cure) for name, text, cure in rows)


_ERRORS = _rules(
    Level.ERROR,
    (
        "annotations-missing",
        "the annotation file must be there",
        "mend data_root and ann_file, or fetch the file",
    ),
    (
        "annotations-unreadable",
        "the annotation file must be whole and in the format that the data set reads",
        "fetch or write it again",
    ),
    (
        "pictures-none",
        "a data set must have pictures",
        "mend data_root, data_prefix and img_suffix",
    ),
    (
        "record-incomplete",
        "a record must have the entries that MMDetection reads, each of its kind",
        "write the missing entries, or take the record out",
    ),
    (
        "image-id-twice",
        "an image id must be used once: the last one wins, the others lose their picture",
        "number the images anew",
    ),
    (
        "annotation-id-twice",
        "an annotation id must be used once: MMDetection stops",
        "number the annotations anew",
    ),
    (
        "category-id-twice",
        "a category id must be used once: the last one wins",
        "number the categories anew, and the category_id of their annotations",
    ),
    (
        "class-missing",
        "every class of the config must be a category of the file: all labels behind a "
        "missing one shift",
        "set metainfo.classes to the file's names, or add the category",
    ),
    (
        "class-order",
        "MMDetection counts classes in the file's order, so the config must name them in "
        "that order",
        "put metainfo.classes into the order of the file",
    ),
    (
        "class-count",
        "a head must have as many classes as the data set",
        "set num_classes of the head to the count of metainfo.classes",
    ),
    (
        "number-not-finite",
        "the numbers of an annotation must be finite: an infinite box reaches the loss, a NaN is "
        "left out or drawn anyhow",
        "take the annotation out, or write its numbers again",
    ),
    (
        "mask-missing",
        "an instance must have a mask where the config trains masks: MMDetection stops",
        "add a polygon, or take the annotation out",
    ),
    (
        "rle-size",
        "run lengths must be of the picture's size: MMDetection stops",
        "write the runs again for the picture's height and width",
    ),
    (
        "rle-broken",
        "run lengths must be readable and add up to height times width",
        "write the runs again, with pycocotools for one",
    ),
    (
        "file-missing",
        "a file that is named must be there",
        "fetch it, name it as its record does, or take the record out",
    ),
    ("file-empty", "a file must hold something", "fetch it again"),
    (
        "file-unreadable",
        "a file must be a picture that the config's loader reads",
        "write it as JPEG or PNG",
    ),
    (
        "file-truncated",
        "a picture must be whole: loaders stop, or fill what is missing with gray",
        "fetch it again",
    ),
    (
        "file-too-large",
        "a picture must not claim more pixels than its loader reads or its bytes can hold",
        "cut or shrink the picture; if its header lies, fetch it again",
    ),
    (
        "file-kills-reader",
        "reading a picture must not end the process that reads",
        "take the file out",
    ),
    (
        "picture-size",
        "a picture must have the size that its annotations were made for",
        "write the true width and height, and scale the annotations with them",
    ),
    (
        "picture-turned",
        "annotations must be made for the picture as the loader reads it: turned by its EXIF "
        "orientation, but for formats in which the loader ignores it",
        "turn the pixels, delete the orientation, and make the annotations for what you then see",
    ),
    (
        "picture-colours",
        "the loader must read what the file shows, as many channels as the network takes",
        "write it as 8-bit RGB, or set color_type or imdecode_backend of LoadImageFromFile",
    ),
    ("label-missing", "every picture must have a label picture", "add it, or take the picture out"),
    (
        "label-size",
        "a label picture must have the size of its picture, as that is read",
        "write the labels again in the picture's size, by nearest neighbour",
    ),
    (
        "label-colours",
        "a label picture must hold one whole number a pixel, not colours",
        "write class numbers into a picture of one channel",
    ),
    (
        "label-beyond",
        "a label must be one of the classes or the ignored value: a loss beyond the classes"
        " stops a GPU",
        "mend the labels, reduce_zero_label or metainfo.classes",
    ),
)
_LOSSES = _rules(
    Level.LOSS,
    (
        "picture-unknown",
        "an annotation must belong to a listed image: it is left out",
        "list its image, or take it out",
    ),
    (
        "category-unknown",
        "an annotation must belong to a listed category: it is left out",
        "list the category, or mend category_id",
    ),
    (
        "box-outside",
        "a box must meet its picture: it is left out",
        "write [left, top, width, height] in px of the picture",
    ),
    (
        "box-beyond",
        "a box must end with its picture: it is trained as it is, partly on nothing",
        "write [left, top, width, height] in px, not two corners, and clip it",
    ),
    (
        "box-empty",
        "a box must be 1 px wide and high, its area above 0: it is left out",
        "write width and height in px, or take the annotation out",
    ),
    (
        "polygon-short",
        "a polygon must have pairs of numbers, three at least: it is left out",
        "close the outline, or take it out",
    ),
    (
        "polygon-outside",
        "a polygon must meet its picture: its mask is empty",
        "mend its coordinates, px of the picture",
    ),
    (
        "polygon-crossing",
        "a polygon must not cross itself: what lies inside twice becomes a hole, and a "
        "wrong order of points loses half",
        "write its points in the order of the outline",
    ),
)
_NOTES = _rules(
    Level.NOTE,
    (
        "class-unknown",
        "only data sets that are MMEngine's BaseDataset can be checked",
        "derive the class from it, or check the data otherwise",
    ),
    (
        "category-unused",
        "categories of the file that the config does not name are left out",
        "name them in metainfo.classes, if they should be learnt",
    ),
    ("file-twice", "a picture that is listed twice is trained twice", "list it once, under one id"),
    (
        "picture-unlisted",
        "files in the folder with another ending than img_suffix are not read",
        "set img_suffix, or rename them",
    ),
    ("label-alone", "a label picture without a picture is not read", "add its picture"),
    (
        "label-void",
        "a label picture in which everything is ignored teaches nothing",
        "take the pair out",
    ),
    ("picture-gray", "a gray picture is read as three equal channels", "nothing need be done"),
    (
        "picture-cmyk",
        "a CMYK picture is read as RGB, without its colour profile",
        "write it as RGB, if colours matter",
    ),
    ("picture-deep", "a picture of 16 bits is read as 8", "nothing need be done"),
    (
        "picture-alpha",
        "transparency is dropped; what was invisible shows",
        "paint it on a ground, if it must not",
    ),
    (
        "picture-animated",
        "of several pictures in a file the first is read",
        "write it as a file of its own",
    ),
    (
        "picture-exif",
        "the loader turns a picture by its EXIF orientation: its annotations must be made for the "
        "turned one, which equal sizes do not prove",
        "look at a few of them with their annotations",
    ),
    (
        "picture-large",
        "a picture of more than 268 million pixels was not decoded here",
        "give it a try of its own; cut it for training",
    ),
)


RULES = {rule.name: rule for rules in (_ERRORS, _LOSSES, _NOTES) for rule in rules}

# What `SkipBroken` skips where the user wants it: the loaders stop at these.
SKIPPABLE = frozenset(
    {
        "file-missing",
        "file-empty",
        "file-unreadable",
        "file-truncated",
        "file-too-large",
        "label-missing",
        "mask-missing",
        "rle-size",
    }
)
