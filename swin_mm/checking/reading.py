"""Files of pictures: their bytes, their headers, and whether all of them is there."""

from __future__ import annotations

import functools
import io
import os
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mmengine import fileio
from PIL import Image, UnidentifiedImageError

DECODED = 2**28  # px; larger ones would fill the memory of many workers
_PILLOW = 2 * Image.MAX_IMAGE_PIXELS  # px, beyond which Pillow refuses a picture
_DEFLATE = 1032  # bytes that one byte of a PNG can at most stand for
_JPEG_BLOCK = 64  # px that one bit of a JPEG can at most stand for


class BrokenFile(Exception):
    """A file breaks a rule, and nothing more can be learnt from it.

    Attributes:
        rule: its name in `RULES`.
        met: the numbers.
    """

    def __init__(self, rule: str, met: str) -> None:
        super().__init__(rule, met)
        self.rule, self.met = rule, met


def read_bytes(path: str, storage: Mapping[str, Any] | None = None) -> bytes:
    """Read a file from a disk, or from where MMEngine's `backend_args` say.

    Raises:
        BrokenFile: if it is not there, cannot be read, or is empty.
    """
    try:
        if lies_on_disk(path, storage):
            with open(path, "rb") as file:
                content = file.read()
        else:
            content = fileio.get(path, backend_args=storage)
    except FileNotFoundError as error:
        raise BrokenFile("file-missing", absence(path)) from error
    except OSError as error:
        raise BrokenFile("file-unreadable", error.strerror or str(error)) from error
    if not content:
        raise BrokenFile("file-empty", "0 bytes")
    return content


def absence(path: str) -> str:
    """Say that there is no such file, and which is there by nearly its name.

    macOS writes an umlaut as two characters, and cameras write `.JPG`.
    """
    folder, name = os.path.split(path)
    near = _names_in(folder).get(_spoken(name))
    return "there is no such file" + (f"; the folder has one named {near!a}" if near else "")


@functools.lru_cache(maxsize=2)
def _names_in(folder: str) -> dict[str, str]:
    """Names of a folder's files, by how they are spoken."""
    try:
        return {_spoken(name): name for name in os.listdir(folder or ".")}
    except OSError:  # none, of files elsewhere too, or one that may not be listed
        return {}


def _spoken(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def lies_on_disk(folder: str, storage: Mapping[str, Any] | None) -> bool:
    """Whether files can be listed as on a disk."""
    return storage is None and "://" not in folder


def absent_files(paths: Iterable[str]) -> list[str]:
    """Find which of many files on a disk are not there, by listing their folders once."""
    folders: dict[str, set[str]] = {}
    missing = []
    for path in paths:
        folder, name = os.path.split(path)
        if folder not in folders:
            folders[folder] = set(os.listdir(folder)) if os.path.isdir(folder) else set()
        if name not in folders[folder]:
            missing.append(path)
    return missing


def open_header(content: bytes, backend: str) -> Image.Image:
    """Read what a file says of itself.

    Args:
        content: all of the file.
        backend: who will decode it in a training, `cv2`, `pillow`...

    Returns:
        A picture whose pixels are not decoded.

    Raises:
        BrokenFile: if Pillow knows no such format, or the header claims more pixels than the
            backend reads or the file can hold.
    """
    try:
        with _any_size():
            image = Image.open(io.BytesIO(content))
    except UnidentifiedImageError as error:
        start = content[:8].hex(" ")
        met = f"no format of a picture begins with the bytes {start} ({len(content)} in all)"
        raise BrokenFile("file-unreadable", met) from error
    except Exception as error:  # a damaged header fails in any way
        raise _broken(content, error) from error
    width, height = image.size
    pixels = width * height
    claim = f"its header claims {width}x{height} px"
    if pixels > _most_pixels(backend):
        met = f"{claim}, more than the {_most_pixels(backend)} px that {backend} reads"
        raise BrokenFile("file-too-large", met)
    if pixels > _room(content, image.format or ""):
        met = f"{claim}, more than its {len(content)} bytes can hold"
        raise BrokenFile("file-too-large", met)
    return image


def require_whole(content: bytes, image: Image.Image) -> None:
    """Decode a picture to see whether all of it is there.

    A JPEG is decoded at an eighth of its size, which reads every byte and takes two thirds of the
    time.

    Raises:
        BrokenFile: if it breaks off or is damaged, or memory does not hold it.
    """
    try:
        with _any_size():
            if image.format == "PNG":
                Image.open(io.BytesIO(content)).verify()  # checksums
            if image.format == "JPEG":
                image.draft("L", (image.width // 8, image.height // 8))
            image.load()
    except MemoryError as error:
        raise BrokenFile("file-too-large", "it does not fit into memory") from error
    except Exception as error:  # decoders fail in any way
        raise _broken(content, error) from error


def _broken(content: bytes, error: Exception) -> BrokenFile:
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    cut = "truncat" in told.lower() or isinstance(error, EOFError)
    if cut:
        return BrokenFile("file-truncated", f"it breaks off after {len(content)} bytes")
    return BrokenFile("file-unreadable", f"damaged ({told}, {len(content)} bytes)")


def _most_pixels(backend: str) -> int:
    """How large a picture may be, px; OpenCV's bound is a variable of the environment."""
    if backend == "pillow":
        return _PILLOW
    return int(os.environ.get("OPENCV_IO_MAX_IMAGE_PIXELS", 2**30))


def _room(content: bytes, kind: str) -> float:
    """How many pixels so many bytes can stand for at most."""
    if kind == "JPEG":
        return 8 * len(content) * _JPEG_BLOCK
    if kind == "PNG" and len(content) > 25:
        depth, channels = content[24], {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}.get(content[25], 1)
        return 8 * len(content) * _DEFLATE / (depth * channels)
    return float("inf")


@contextmanager
def _any_size() -> Iterator[None]:
    """Let Pillow read any header, without a warning: we have a rule of our own."""
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = most
