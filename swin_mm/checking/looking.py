"""Look at one picture, its label picture and the masks of its instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from swin_mm.checking.faults import Fault
from swin_mm.checking.labels import Meaning, look_at_labels
from swin_mm.checking.pictures import Seen, look_at
from swin_mm.checking.polygons import check_mask
from swin_mm.checking.reading import BrokenFile
from swin_mm.checking.sources import Reader
from swin_mm.checking.tasks import Task


@dataclass(frozen=True)
class Look:
    """Looks at pictures; can be sent to another process.

    Attributes:
        name: the data set's annotation file, if it has one.
        reader: how pictures are read.
        labels: how label pictures are read.
        meaning: of the numbers in them.
    """

    name: str
    reader: Reader
    labels: Reader | None = None
    meaning: Meaning | None = None

    def __call__(self, task: Task) -> list[Fault]:
        """Return what is wrong with a picture and all that belongs to it."""
        return list(self._faults(task))

    def _faults(self, task: Task) -> Iterator[Fault]:
        seen = None
        try:
            seen = look_at(task.path, self.reader)
        except BrokenFile as broken:
            yield Fault(broken.rule, task.path, task.record, broken.met)
        if seen is not None:
            yield from (Fault(rule, task.path, task.record, met) for rule, met in seen.notes)
        if seen is not None and task.label is None:
            yield from _compare(task, seen)
        for number, segmentation in task.masks:
            record = f"annotation {number} of {task.record}"
            yield from check_mask(segmentation, task.size, self.name, record)
        if task.label is not None and self.labels is not None:
            yield from self._look_at_labels(task, seen)

    def _look_at_labels(self, task: Task, seen: Seen | None) -> Iterator[Fault]:
        try:
            size, labelled = look_at_labels(task.label, self.labels, self.meaning)
        except BrokenFile as broken:
            rule = "label-missing" if broken.rule == "file-missing" else broken.rule
            yield Fault(rule, task.label, "", broken.met)
            return
        if seen is not None and size != seen.size:
            turned = size == seen.unturned
            yield Fault(
                "picture-turned" if turned else "label-size",
                task.label,
                "",
                f"{_px(size)}, its picture {_px(seen.size)} as read{_turn(seen)}",
            )
            return
        if not labelled:
            yield Fault("label-void", task.label, "", f"not one of {_px(size)} is a class")
        if seen is not None and seen.orientation != 1:
            met = f"{_px(seen.size)} as read and labelled{_turn(seen)}"
            yield Fault("picture-exif", task.path, "", met)


def _compare(task: Task, seen: Seen) -> Iterator[Fault]:
    """Compare a picture with the size that its annotations were made for."""
    if task.size is not None and tuple(task.size) != seen.size:
        turned = tuple(task.size) == seen.unturned
        met = f"{_px(seen.size)} as read{_turn(seen)}, annotated at {_px(task.size)}"
        yield Fault("picture-turned" if turned else "picture-size", task.path, task.record, met)
    elif seen.orientation != 1:
        fits = f"{_px(seen.size)} as read{' and annotated' if task.size else ''}"
        yield Fault("picture-exif", task.path, task.record, f"{fits}{_turn(seen)}")


def _turn(seen: Seen) -> str:
    return f" (EXIF orientation {seen.orientation})" if seen.orientation != 1 else ""


def _px(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]} px"
