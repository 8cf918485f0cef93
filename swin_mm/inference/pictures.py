"""Which pictures and videos a job takes, and what each is called in the output."""

from __future__ import annotations

import difflib
import functools
import glob
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from swin_mm.inference.errors import InferenceError

# Taken from folders and by patterns; a file that is named is a picture unless it ends as a video.
ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
VIDEO_ENDINGS = (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm")
_LONGEST = 200  # bytes of a result's name, without ending
_COCO_DIGITS = 12  # of the names of COCO's own files


@dataclass(frozen=True)
class Picture:
    """One picture of a job, or one video.

    Attributes:
        path: where it lies.
        name: what its results are called, without ending; no two of a job share it.
        image_id: its number in COCO's results, no two of a job the same: `7` for a name such as
            `7`, or COCO's own `000000000007`; any other name, `07` too, is the number itself.
    """

    path: str
    name: str
    image_id: int | str

    @property
    def is_video(self) -> bool:
        """Whether it is one, by its ending."""
        return self.path.lower().endswith(VIDEO_ENDINGS)


def find_pictures(sources: Sequence[str], *, out: str | None = None) -> list[Picture]:
    """List the pictures and videos that files, folders and patterns stand for.

    Args:
        sources: files; folders, of which those by a known ending are taken in the order of their
            names, none of folders below; and patterns such as `day*/**/*.jpg`, which a quoted
            argument hands through.
        out: where results go. Those of an earlier run are no pictures of the next.

    Raises:
        InferenceError: if there is no such file, or a folder or pattern without pictures.
    """
    is_result = _results_of(out)
    paths = [path for source in sources for path in _paths_of(source, is_result)]
    pictures: list[Picture] = []
    names: dict[str, int] = {}
    ids: set[int | str] = set()
    for path in dict.fromkeys(paths):
        name = _free_name(_short(os.path.splitext(os.path.basename(path))[0]), names)
        number = _number_of(name)
        image_id = name if number in ids else number
        ids.add(image_id)
        pictures.append(Picture(path, name, image_id))
    return pictures


def _paths_of(source: str, is_result: Callable[[str], bool]) -> list[str]:
    if os.path.isfile(source):
        if is_result(source):
            raise InferenceError(f"{source} is a result that lies in --out; name the picture")
        return [source]
    known = ENDINGS + VIDEO_ENDINGS
    if os.path.isdir(source):
        names = sorted(name for name in os.listdir(source) if name.lower().endswith(known))
        found = [os.path.join(source, name) for name in names]
        none = f"no picture lies in {source}"
    elif glob.has_magic(source):
        matches = sorted(glob.glob(source, recursive=True))
        found = [path for path in matches if os.path.isfile(path) and path.lower().endswith(known)]
        none = f"no picture fits {source}"
    else:
        folder, name = os.path.split(source)
        there = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        near = difflib.get_close_matches(name, there, n=1)
        guess = f"; did you mean {os.path.join(folder, near[0])}?" if near else ""
        raise InferenceError(f"there is no picture {source}{guess}")
    if not found:
        raise InferenceError(f"{none}: none ends in {', '.join(known)}")
    pictures = [path for path in found if not is_result(path)]
    if not pictures:
        raise InferenceError(f"{none}: all {len(found)} are results that lie in --out")
    return pictures


def _results_of(out: str | None) -> Callable[[str], bool]:
    """Say of a path whether it is a result in a folder, whose other files may be pictures."""
    from swin_mm.inference.looking import LABELS, LEGEND, OVERLAYS  # which imports this module

    if out is None:
        return lambda _: False
    real = functools.cache(os.path.realpath)  # of folders, which many pictures share
    legend, *folders = (os.path.join(real(out), name) for name in (LEGEND, OVERLAYS, LABELS))

    def is_result(path: str) -> bool:
        folder, name = os.path.split(path)
        below = real(folder) + os.sep
        return below + name == legend or any(below.startswith(one + os.sep) for one in folders)

    return is_result


def _number_of(name: str) -> int | str:
    """Read a name as a number where it is written as one is, so that `1` and `01` differ."""
    if not (name.isascii() and name.isdecimal()):
        return name
    number = int(name)
    return number if name in (str(number), f"{number:0{_COCO_DIGITS}}") else name


def _short(stem: str) -> str:
    """Cut a name so that results' endings fit behind it: file systems take 255 bytes."""
    return os.fsencode(stem)[:_LONGEST].decode(sys.getfilesystemencoding(), "ignore")


def _free_name(stem: str, taken: dict[str, int]) -> str:
    """Number a name that another picture has; names that differ in case only are one on disks.

    Args:
        stem: the name that the picture would have.
        taken: names without case, and how often each was asked for, so that none is tried twice.
    """
    name, key = stem, stem.casefold()
    number = taken.get(key, 1)
    while name.casefold() in taken:
        number += 1
        name = f"{stem}_{number}"
    taken[key] = number
    taken.setdefault(name.casefold(), 1)
    return name
