"""Pictures, read whole or refused."""

from __future__ import annotations

import io
import re
import struct
import warnings

import numpy as np

from swin_mm.inference.errors import PictureError

# A mark of a JPEG, but for those that stand alone within a scan: stuffing, restarts, a start.
_MARK = re.compile(rb"\xff+([^\x00\x01\xd0-\xd8\xff])")
_JPEG, _PNG, _TIFF = b"\xff\xd8", b"\x89PNG\r\n\x1a\n", (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_LOGARITHMS = (32844, 32845)  # LogL and LogLuv, as which OpenCV writes floats of three channels
_FLOATS = (b"PF", b"Pf", b"#?")  # PFM and Radiance's HDR hold nothing else


def read_picture(path: str, *, colour: str = "color", backend: str | None = None) -> np.ndarray:
    """Read a picture as OpenMMLab's `LoadImageFromFile` does, but refuse half of one.

    Turned as its EXIF orientation says; 16 bits become 8; gray and CMYK become BGR; no
    transparency.

    Args:
        path: a file.
        colour: `color_type` of a config's `LoadImageFromFile`.
        backend: `imdecode_backend` of the same, `None` for mmcv's choice.

    Returns:
        (H, W, 3) uint8 BGR, or what `colour` says.

    Raises:
        PictureError: if it is no picture, breaks off, holds floating-point numbers, or is too
            large for OpenCV or memory.
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
    if _holds_floats(content):  # OpenCV makes all from 1 on white, and reads few of them at all
        raise PictureError(
            f"{path} holds floating-point numbers, which have no agreed black and white; "
            "save it with 8 or 16 bits"
        )
    try:
        picture = mmcv.imfrombytes(content, flag=colour, backend=backend)
    except (cv2.error, OSError, ValueError, MemoryError) as error:
        raise PictureError(f"{path} {_reason(error)}") from error
    if picture is None:
        raise PictureError(f"{path} is not a picture that can be read ({len(content)} bytes)")
    return picture


def _reason(error: Exception) -> str:
    told = str(error)
    for name in ("OPENCV_IO_MAX_IMAGE_PIXELS", "OPENCV_IO_MAX_IMAGE_WIDTH",
                 "OPENCV_IO_MAX_IMAGE_HEIGHT"):  # fmt: skip
        if name.removeprefix("OPENCV_") in told:
            return f"is larger than OpenCV reads unasked; set {name} to a larger number"
    if isinstance(error, MemoryError) or "nsufficient memory" in told:
        return "does not fit into memory"
    return f"is not a picture that can be read: {getattr(error, 'err', None) or error}"


def _breaks_off(content: bytes) -> bool:
    """Say whether a JPEG or PNG lacks its end, which decoders fill with gray in silence.

    Whatever follows the end is no part of the picture: phones append videos.
    """
    if content.startswith(_JPEG):
        return not _jpeg_ends(content)
    return content.startswith(_PNG) and not _png_ends(content)


def _jpeg_ends(content: bytes) -> bool:
    """Walk from mark to mark, past the segments and the thumbnails in them, to the end's."""
    at = len(_JPEG)
    while mark := _MARK.search(content, at):
        if mark[1] == b"\xd9":
            return True
        at = mark.end() + int.from_bytes(content[mark.end() : mark.end() + 2], "big")
    return False


def _png_ends(content: bytes) -> bool:
    """Walk from chunk to chunk to the last."""
    at = len(_PNG)
    while at < len(content):
        if content[at + 4 : at + 8] == b"IEND":
            return True
        at += 12 + int.from_bytes(content[at : at + 4], "big")  # length, name and checksum
    return False


def _holds_floats(content: bytes) -> bool:
    """Say whether a picture's numbers are of floating point, by its head alone."""
    from PIL.TiffImagePlugin import (
        PHOTOMETRIC_INTERPRETATION,
        SAMPLEFORMAT,
        ImageFileDirectory_v2,
    )

    if not content.startswith(_TIFF):
        return content.startswith(_FLOATS)
    try:
        directory = ImageFileDirectory_v2(content[: 16 if b"+" in content[:4] else 8])
        file = io.BytesIO(content)
        file.seek(directory.next)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the decoder tells of a broken head
            directory.load(file)
        floats = 3 in np.atleast_1d(directory.get(SAMPLEFORMAT, 1))
        return floats or directory.get(PHOTOMETRIC_INTERPRETATION) in _LOGARITHMS
    except (OSError, ValueError, SyntaxError, KeyError, IndexError, TypeError, struct.error):
        return False  # the decoder says better what is wrong
