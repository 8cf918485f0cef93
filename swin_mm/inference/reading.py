"""Pictures, read whole or refused."""

from __future__ import annotations

import numpy as np

from swin_mm.inference.errors import PictureError


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
        PictureError: if it is no picture, or breaks off, or is too large for OpenCV or memory.
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

    A JPEG's end mark must come after its last scan: the thumbnail before has an end of its own.
    """
    if content.startswith(b"\xff\xd8"):
        return content.rfind(b"\xff\xd9") < content.rfind(b"\xff\xda")
    return content.startswith(b"\x89PNG") and b"IEND" not in content
