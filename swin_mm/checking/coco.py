"""Annotation files in COCO's format, record by record."""

from __future__ import annotations

import gc
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from swin_mm.checking.faults import Fault, Findings
from swin_mm.checking.polygons import fault_of_numbers
from swin_mm.checking.reading import BrokenFile, read_bytes
from swin_mm.checking.tasks import Wishes, draw

_BEYOND = 1.0  # px that a box may end beyond its picture
_LISTS = ("images", "annotations", "categories")


@dataclass(frozen=True)
class Format:
    """How a data set reads an annotation file.

    Attributes:
        file: the file.
        classes: names of the config's classes, in its order; none for all of the file's.
        masks: whether masks are read.
        scored: whether a metric reads the file too.
        storage: MMEngine's `backend_args`.
    """

    file: str
    classes: tuple[str, ...]
    masks: bool = False
    scored: bool = False
    storage: dict | None = None


@dataclass(frozen=True)
class Image:
    """One picture of an annotation file, with what lies in it.

    Attributes:
        name: `file_name`.
        record: which record it is.
        size: width and height, px.
        masks: of each instance, the annotation's id and the segmentation.
    """

    name: str
    record: str
    size: tuple[int, int]
    masks: Sequence[tuple[Any, Any]] = ()


def read_coco(form: Format, findings: Findings, wishes: Wishes) -> tuple[list[Image], list[str]]:
    """Check every record of an annotation file, but neither files nor what masks cover.

    Args:
        form: the file, and how it is read.
        findings: takes what is found.
        wishes: how many of the pictures are to be looked at.

    Returns:
        The pictures to look at, in the file's order, and the names of all; of those whose records
        can be understood.
    """
    with _no_collection():
        return _read(form, findings, wishes)


def _read(form: Format, findings: Findings, wishes: Wishes) -> tuple[list[Image], list[str]]:
    content = _load(form, findings)
    if content is None:
        return [], []
    sizes = _check_images(form, content["images"], findings)
    known = _check_categories(form, content["categories"], findings)
    chosen = draw(list(sizes), wishes)
    masks: dict[Any, list] = {number: [] for number in chosen}
    _check_annotations(form, content["annotations"], sizes, known, masks, findings)
    findings.pictures, findings.annotations = len(content["images"]), len(content["annotations"])
    if not content["images"]:
        findings.add(Fault("pictures-none", form.file, "", "its list of images is empty"))
    names = Counter(name for name, _ in sizes.values())
    for name in [name for name, count in names.items() if count > 1]:
        findings.add(Fault("file-twice", form.file, name, f"listed {names[name]} times"))
    images = [Image(sizes[n][0], f"image {n}", sizes[n][1], masks[n]) for n in chosen]
    return images, list(names)


def _load(form: Format, findings: Findings) -> dict | None:
    try:
        content = json.loads(read_bytes(form.file, form.storage))
    except BrokenFile as broken:
        rule = "annotations-missing" if broken.rule == "file-missing" else "annotations-unreadable"
        findings.add(Fault(rule, form.file, "", broken.met))
        return None
    except (ValueError, RecursionError) as error:  # also bytes that are no text
        findings.add(Fault("annotations-unreadable", form.file, "", f"not JSON: {error}"))
        return None
    if not isinstance(content, dict):
        met = f"a {type(content).__name__}, where COCO has an object of {', '.join(_LISTS)}"
        findings.add(Fault("annotations-unreadable", form.file, "", met))
        return None
    absent = [name for name in _LISTS if not isinstance(content.get(name), list)]
    if absent:
        met = f"it has no list of {', '.join(absent)}; it has {', '.join(content) or 'nothing'}"
        findings.add(Fault("annotations-unreadable", form.file, "", met))
        return None
    return content


def _check_images(
    form: Format, images: list, findings: Findings
) -> dict[Any, tuple[str, tuple[int, int]]]:
    """Check the list of images.

    Returns:
        By id the file's name and its size, width and height in px.
    """
    sizes: dict[Any, tuple[str, tuple[int, int]]] = {}
    for place, image in enumerate(images):
        try:
            number, name = image["id"], image["file_name"]
            size = image["width"], image["height"]
            whole = isinstance(name, str) and size[0] > 0 and size[1] > 0  # no NaN is
            twice = number in sizes
        except (KeyError, TypeError) as error:
            findings.add(_incomplete(form, "images", place, image, error))
            continue
        if not whole:
            met = f"file_name {name!r}, width {size[0]}, height {size[1]}"
            findings.add(Fault("record-incomplete", form.file, f"image {number}", met))
        elif twice:
            met = f"{sizes[number][0]} and {name}"
            findings.add(Fault("image-id-twice", form.file, f"image {number}", met))
        else:
            sizes[number] = (name, size)
    return sizes


def _check_categories(form: Format, categories: list, findings: Findings) -> dict[Any, bool]:
    """Check the list of categories.

    Returns:
        By id whether the config learns it.
    """
    names: dict[Any, str] = {}
    for place, category in enumerate(categories):
        try:
            number, name = category["id"], category["name"]
            twice = number in names
        except (KeyError, TypeError) as error:
            findings.add(_incomplete(form, "categories", place, category, error))
            continue
        if twice:
            met = f"{names[number]} and {name}"
            findings.add(Fault("category-id-twice", form.file, f"category {number}", met))
        else:
            names[number] = name
    _check_classes(form, list(names.values()), findings)
    return {number: name in form.classes or not form.classes for number, name in names.items()}


def _check_classes(form: Format, order: list[str], findings: Findings) -> None:
    """Compare the config's classes with the file's, whose order MMDetection takes."""
    for place, name in enumerate(form.classes):
        if name not in order:
            met = f"class {place} of the config; the file has {_shortened(order)}"
            findings.add(Fault("class-missing", form.file, f"category {name!r}", met))
    if not form.classes:
        return
    wanted = [name for name in form.classes if name in order]
    given = [name for name in order if name in form.classes]
    for place, (one, other) in enumerate(zip_longest(wanted, given)):
        if one != other:
            met = f"place {place} is {one!r} in the config and {other!r} in the file"
            findings.add(Fault("class-order", form.file, "", met))
            break
    unused = [name for name in order if name not in form.classes]
    if unused:
        met = f"{len(unused)} of {len(order)}: {_shortened(unused)}"
        findings.add(Fault("category-unused", form.file, "", met))


def _check_annotations(
    form: Format,
    annotations: list,
    sizes: dict[Any, tuple[str, tuple[int, int]]],
    known: dict[Any, bool],
    masks: dict[Any, list],
    findings: Findings,
) -> None:
    """Check the list of annotations, and add the masks of some images to their lists."""
    seen: set = set()
    for place, annotation in enumerate(annotations):
        try:
            found = _fault_of(form, annotation, sizes, known, seen)
            number, image = annotation["id"], annotation["image_id"]
            seen.add(number)
            if found is not None:
                rule, met = found
                record = f"annotation {number} of image {image}"
                findings.add(Fault(rule, form.file, record, met))
            elif form.masks and image in masks and _is_learnt(annotation, known):
                masks[image].append((number, annotation["segmentation"]))
        except (KeyError, TypeError, ValueError) as error:
            findings.add(_incomplete(form, "annotations", place, annotation, error))


def _is_learnt(annotation: dict, known: dict[Any, bool]) -> bool:
    return known[annotation["category_id"]] and not annotation.get("ignore")


def _fault_of(
    form: Format, annotation: dict, sizes: dict, known: dict[Any, bool], seen: set
) -> tuple[str, str] | None:
    """Find the first rule that an annotation breaks.

    Raises:
        KeyError: if it lacks an entry.
        TypeError: if an entry is of another kind.
        ValueError: if the box is not four numbers.
    """
    number, category, area = annotation["id"], annotation["category_id"], annotation["area"]
    left, top, width, height = annotation["bbox"]
    if form.scored:
        annotation["iscrowd"]  # the metric's; a KeyError tells that it is not there
    if annotation.get("ignore"):  # MMDetection passes it over
        return None
    if number in seen:
        return "annotation-id-twice", "the id is another annotation's too"
    if annotation["image_id"] not in sizes:
        return "picture-unknown", "no image has this id"
    if category not in known:
        return "category-unknown", f"category_id {category}"
    if not math.isfinite(left + top + width + height + area):
        return "number-not-finite", f"bbox {annotation['bbox']}, area {area}"
    across, down = sizes[annotation["image_id"]][1]
    if width < 1 or height < 1 or area <= 0:
        return "box-empty", f"{width:g}x{height:g} px, area {area:g}"
    right, bottom = left + width, top + height
    if left < -_BEYOND or top < -_BEYOND or right > across + _BEYOND or bottom > down + _BEYOND:
        outside = right <= 0 or bottom <= 0 or left >= across or top >= down
        box = f"x {left:g} to {right:g}, y {top:g} to {bottom:g} in {across}x{down} px"
        return "box-outside" if outside else "box-beyond", box
    if not form.masks or not known[category]:
        return None
    if not annotation.get("segmentation"):
        return "mask-missing", f"segmentation is {annotation.get('segmentation')!r}"
    return fault_of_numbers(annotation["segmentation"], (across, down))


def _incomplete(form: Format, where: str, place: int, record: Any, error: Exception) -> Fault:
    which = f"{where}[{place}]"
    if not isinstance(record, dict):
        return Fault("record-incomplete", form.file, which, f"a {type(record).__name__}")
    if "id" in record:
        which = f"{where[:-1] if where != 'categories' else 'category'} {record['id']}"
    if isinstance(error, KeyError):
        return Fault("record-incomplete", form.file, which, f"it has no {error.args[0]}")
    shown = {key: record[key] for key in record if key != "segmentation"}
    return Fault("record-incomplete", form.file, which, f"{error}: {str(shown)[:200]}")


def _shortened(names: Sequence[str]) -> str:
    shown = ", ".join(map(str, names[:5])) or "none"
    return f"{shown}, ..." if len(names) > 5 else shown


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stop the search for garbage: millions of new records, none of them garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
