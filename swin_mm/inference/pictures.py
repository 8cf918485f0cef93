"""Which pictures and videos a job takes, and what each is called in the output."""

from __future__ import annotations

import difflib
import glob
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from swin_mm.inference.errors import InferenceError

# Taken from folders and by patterns; a file that is named is a picture unless it ends as a video.
ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")


@dataclass(frozen=True)
class Picture:
    """One picture of a job, or one video.

    Attributes:
        path: where it lies.
        name: what its results are called, without ending; no two of a job share it.
        image_id: its number in COCO's results: a name of digits is the number, as in COCO's own
            files; any other name is the number itself.
    """

    path: str
    name: str
    image_id: int | str

    @property
    def is_video(self) -> bool:
        """Whether it is one, by its ending."""
        return self.path.lower().endswith(VIDEO_ENDINGS)


def find_pictures(sources: Sequence[str]) -> list[Picture]:
    """List the pictures and videos that files, folders and patterns stand for.

    Args:
        sources: files; folders, of which those by a known ending are taken in the order of their
            names, none of folders below; and patterns such as `day*/**/*.jpg`, which a quoted
            argument hands through.

    Raises:
        InferenceError: if there is no such file, or a folder or pattern without pictures.
    """
    paths = [path for source in sources for path in _paths_of(source)]
    pictures: list[Picture] = []
    names: set[str] = set()
    ids: set[int | str] = set()
    for path in dict.fromkeys(paths):
        name = _free_name(os.path.splitext(os.path.basename(path))[0], names)
        number = int(name) if name.isascii() and name.isdecimal() else name
        image_id = name if number in ids else number
        names.add(name)
        ids.add(image_id)
        pictures.append(Picture(path, name, image_id))
    return pictures


def _paths_of(source: str) -> list[str]:
    if os.path.isfile(source):
        return [source]
    known = ENDINGS + VIDEO_ENDINGS
    if os.path.isdir(source):
        names = sorted(name for name in os.listdir(source) if name.lower().endswith(known))
        if not names:
            raise InferenceError(f"no picture lies in {source}: none ends in {', '.join(known)}")
        return [os.path.join(source, name) for name in names]
    if glob.has_magic(source):
        found = sorted(glob.glob(source, recursive=True))
        fit = [path for path in found if os.path.isfile(path) and path.lower().endswith(known)]
        if not fit:
            raise InferenceError(f"no picture fits {source}: none ends in {', '.join(known)}")
        return fit
    folder, name = os.path.split(source)
    there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
    near = difflib.get_close_matches(name, there, n=1)
    guess = f"; did you mean {os.path.join(folder, near[0])}?" if near else ""
    raise InferenceError(f"there is no picture {source}{guess}")


def _free_name(stem: str, taken: Collection[str]) -> str:
    """Number a name that another picture has; names that differ in case only are one on disks."""
    names = {name.casefold() for name in taken}
    name, number = stem, 2
    while name.casefold() in names:
        name, number = f"{stem}_{number}", number + 1
    return name
