"""The picture that figures are drawn over, at the size at which the network sees it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image, UnidentifiedImageError

from swin_mm.visualization.errors import DrawingError

_LONGEST = 1333  # px, the long side that detectors are tested at
_MOST = 4096  # px of a side; the maps of more fill the memory


@dataclass(frozen=True)
class Picture:
    """A picture as the network sees it.

    Attributes:
        pixels: (H, W, 3) uint8 RGB.
        shrunk: px of the network's picture for one px of the file's, down and across.
    """

    pixels: np.ndarray
    shrunk: tuple[float, float] = (1.0, 1.0)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width, px."""
        return self.pixels.shape[:2]

    def place(self, token: tuple[int, int] | None) -> tuple[int, int]:
        """Find where a point of the file's picture is in the network's.

        Args:
            token: x and y, px of the file's picture; ``None`` for its centre.

        Returns:
            y and x, px of the network's picture.

        Raises:
            DrawingError: if the point is outside.
        """
        if token is None:
            return self.size[0] // 2, self.size[1] // 2
        height, width = (round(s / k) for s, k in zip(self.size, self.shrunk, strict=True))
        x, y = token
        if not (0 <= x < width and 0 <= y < height):
            raise DrawingError(
                f"--token X,Y must lie in the picture: X from 0 to {width - 1}, Y from 0 to "
                f"{height - 1} px, got {x},{y}"
            )
        return tuple(
            min(int(at * k), side - 1)
            for at, k, side in zip((y, x), self.shrunk, self.size, strict=True)
        )


def read_picture(
    path: str,
    *,
    size: int | tuple[int, int] | None = None,
    image_scale: float | None = None,
) -> Picture:
    """Read a picture, and bring it to a size.

    Args:
        path: a file, turned as its EXIF orientation says.
        size: px of the long side, or width and height; by default the file's own, or 1333 px for
            the long side of larger ones.
        image_scale: a factor in place of a size.

    Raises:
        DrawingError: if it is no picture, or half of one, or more than OpenCV reads, or would be
            larger than 4096 px or smaller than 1.
    """
    if image_scale is not None and not 0 < image_scale < math.inf:
        raise DrawingError(f"--image-scale must be a number above 0, got {image_scale:g}")
    if not os.path.isfile(path):
        raise DrawingError(f"there is no picture {path}")
    pixels = _decode(path)
    if pixels is None:
        raise DrawingError(f"{path} is not a picture that OpenCV can read ({_bytes(path)} bytes)")
    _require_whole(path)
    pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
    height, width = pixels.shape[:2]
    if isinstance(size, tuple):
        new_width, new_height = size
    else:
        longest = max(height, width)
        factor = image_scale or (size or min(longest, _LONGEST)) / longest
        new_height, new_width = (max(round(side * factor), 1) for side in (height, width))
    check_size((new_height, new_width))
    if (new_height, new_width) != (height, width):
        shrinks = new_height * new_width < height * width
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        pixels = cv2.resize(pixels, (new_width, new_height), interpolation=how)
    return Picture(pixels, (new_height / height, new_width / width))


def check_size(size: tuple[int, int]) -> None:
    """Refuse sizes that nobody can draw.

    Args:
        size: height and width, px.

    Raises:
        DrawingError: if a side is below 1 or above 4096 px.
    """
    if not all(1 <= side <= _MOST for side in size):
        raise DrawingError(
            f"pictures are drawn with sides of 1 to {_MOST} px, this one would have "
            f"{size[1]}x{size[0]} (width x height); choose another --size or --image-scale"
        )


def _decode(path: str) -> np.ndarray | None:
    """Read (H, W, 3) uint8 BGR, or nothing where OpenCV knows no such picture."""
    if not _bytes(path):
        return None
    try:
        return cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        if "CV_IO_MAX_IMAGE" in str(error):
            raise DrawingError(
                f"{path} has more pixels than OpenCV reads, 2**30; bring it to a smaller size first"
            ) from error
        raise DrawingError(f"{path} is not a picture that OpenCV can read: {error.err}") from error


def _require_whole(path: str) -> None:
    """Refuse a picture that breaks off, whose rest OpenCV fills with gray in silence."""
    try:
        with _any_size(), Image.open(path) as picture:
            picture.load()
    except UnidentifiedImageError:
        return  # of a format that OpenCV alone reads
    except Exception as error:  # decoders fail in any way
        raise DrawingError(f"{path} breaks off or is damaged: {error}; fetch it again") from error


@contextmanager
def _any_size() -> Iterator[None]:
    """Let Pillow read what OpenCV has read: Pillow refuses panoramas as bombs."""
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = most


def _bytes(path: str) -> int:
    return os.path.getsize(path)
