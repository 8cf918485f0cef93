"""Which pictures a job takes, what each is called in the output, and how they are read."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from swin_mm.inference.errors import InferenceError, PictureError

# Read from folders; a file that is named is read whatever its ending.
ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Picture:
    """One picture of a job.

    Attributes:
        path: where it lies.
        name: what its results are called, without ending; no two pictures of a job share it.
        image_id: its number in COCO's results: a name of digits is the number, as in COCO's own
            files; any other name is the number itself.
    """

    path: str
    name: str
    image_id: int | str


def find_pictures(sources: Sequence[str]) -> list[Picture]:
    """List the pictures that files and folders stand for.

    Args:
        sources: picture files, and folders whose pictures, not those of folders below, are taken
            in the order of their names.

    Raises:
        InferenceError: if there is no such file, or a folder without pictures.
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
    if os.path.isdir(source):
        names = sorted(name for name in os.listdir(source) if name.lower().endswith(ENDINGS))
        if not names:
            raise InferenceError(f"no picture lies in {source}: none ends in {', '.join(ENDINGS)}")
        return [os.path.join(source, name) for name in names]
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


def read_picture(path: str, *, colour: str = "color", backend: str | None = None) -> np.ndarray:
    """Read a picture as OpenMMLab's `LoadImageFromFile` does, but refuse half of one.

    Turned as its EXIF orientation says; 16 bits become 8; gray becomes BGR; no transparency.

    Args:
        path: a file.
        colour: `color_type` of a config's `LoadImageFromFile`.
        backend: `imdecode_backend` of the same, `None` for mmcv's choice.

    Returns:
        (H, W, 3) uint8 BGR, or what `colour` says.

    Raises:
        PictureError: if it is no picture, or breaks off.
    """
    import cv2
    import mmcv

    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise PictureError(f"{path} cannot be read: {error.strerror}") from error
    if not content:
        raise PictureError(f"{path} is empty")
    if _breaks_off(content):
        raise PictureError(f"{path} breaks off after {len(content)} bytes; fetch it again")
    try:
        picture = mmcv.imfrombytes(content, flag=colour, backend=backend)
    except (cv2.error, OSError, ValueError) as error:
        reason = error.err if isinstance(error, cv2.error) else error
        raise PictureError(f"{path} is not a picture that can be read: {reason}") from error
    if picture is None:
        raise PictureError(f"{path} is not a picture that can be read ({len(content)} bytes)")
    return picture


def _breaks_off(content: bytes) -> bool:
    """Say whether a JPEG or PNG lacks its end, which decoders fill with gray in silence.

    A JPEG's end mark must come after its last scan: the thumbnail before has an end of its own.
    """
    if content.startswith(b"\xff\xd8"):
        return content.rfind(b"\xff\xd9") < content.rfind(b"\xff\xda")
    return content.startswith(b"\x89PNG") and b"IEND" not in content
