"""One picture as a training would read it: its size, its colours, its turn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image

from swin_mm.checking.reading import DECODED, BrokenFile, open_header, read_bytes, require_whole
from swin_mm.checking.sources import Reader

_ORIENTATION = 0x0112  # EXIF's tag
_QUARTER_TURNS = (5, 6, 7, 8)
_WRONG = 24  # of 255: colours that differ by so much on average are not rounding or a profile
_PLAIN = ("BMP", "JPEG", "MPO", "PNG", "WEBP")  # read alike by everybody, in RGB of 8 bits
_GRAY = ("1", "L", "LA", "La")


@dataclass(frozen=True)
class Seen:
    """What the loader reads.

    Attributes:
        size: width and height, px.
        orientation: EXIF's, 1 where there is none.
        notes: names of rules, each with what was met.
    """

    size: tuple[int, int]
    orientation: int = 1
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def unturned(self) -> tuple[int, int]:
        """The size that the picture has if the loader turns it and another does not, or so."""
        return self.size[::-1] if self.orientation in _QUARTER_TURNS else self.size


def look_at(path: str, reader: Reader) -> Seen:
    """Open a picture as the loader does, and see whether that reads what the file shows.

    Raises:
        BrokenFile: if it breaks a rule for which a training would stop, or see something else.
    """
    content = read_bytes(path, reader.storage)
    image = open_header(content, reader.backend)
    size, mode, frames = image.size, image.mode, _frames(image)
    orientation = _orientation(image)
    if size[0] * size[1] > DECODED:
        return Seen(size, orientation, (("picture-large", f"{size[0]}x{size[1]} px"),))
    require_whole(content, image)
    depth = _depth(content, image)
    notes = list(_notes(image, mode, depth, frames))
    plain = image.format in _PLAIN and orientation == 1 and not notes and mode == "RGB"
    if not plain or not reader.colour.startswith("color"):
        size = _read_as_loader(content, reader, upright=orientation == 1)
    return Seen(size, orientation, tuple(notes))


def _frames(image: Image.Image) -> int:
    try:
        return getattr(image, "n_frames", 1)
    except Exception:  # a damaged later frame: the first is what counts
        return 1


def _orientation(image: Image.Image) -> int:
    try:
        told = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF, which loaders pass over
        return 1
    return told if told in range(1, 9) else 1


def _depth(content: bytes, image: Image.Image) -> int:
    """Bits of one channel; Pillow tells an RGB picture of 16 bits by its mode no more."""
    if image.format == "PNG":
        return content[24]
    if image.format == "TIFF":
        return max(image.tag_v2.get(258, (8,)))
    return 16 if image.mode.startswith(("I", "F")) else 8


def _notes(image: Image.Image, mode: str, depth: int, frames: int) -> Iterator[tuple[str, str]]:
    if depth > 8:
        yield "picture-deep", f"{depth} bits a channel"
    elif mode == "CMYK":
        yield "picture-cmyk", "four channels"
    elif mode in _GRAY:
        yield "picture-gray", f"mode {mode} of Pillow"
    if mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        yield "picture-alpha", f"mode {mode} of Pillow, with transparency"
    if frames > 1:
        yield "picture-animated", f"{frames} pictures in one file"


def _read_as_loader(content: bytes, reader: Reader, *, upright: bool) -> tuple[int, int]:
    """Decode a picture that is out of the ordinary by the loader itself, and judge what it gives.

    Returns:
        Width and height, px.
    """
    import mmcv

    how = f"LoadImageFromFile (imdecode_backend {reader.backend}, color_type {reader.colour})"
    try:
        read = mmcv.imfrombytes(content, flag=reader.colour, backend=reader.backend)
    except Exception as error:  # decoders fail in any way
        told = " ".join(str(error).split())
        raise BrokenFile("file-unreadable", f"{how} fails: {told}") from error
    if read is None:
        raise BrokenFile("file-unreadable", f"{how} reads nothing from it")
    channels = 1 if read.ndim == 2 else read.shape[2]
    if channels != reader.channels:
        met = f"{how} gives {channels} channels, the network takes {reader.channels}"
        raise BrokenFile("picture-colours", met)
    if reader.colour.startswith("color") and channels == 3 and upright:
        difference = _difference(content, read)
        if difference > _WRONG:
            met = f"{how} gives colours that are {difference:.0f} of 255 off on average"
            raise BrokenFile("picture-colours", met)
    return read.shape[1], read.shape[0]


def _difference(content: bytes, read: np.ndarray) -> float:
    """How far the loader's colours (H, W, 3), BGR, are from Pillow's, 0 to 255."""
    image = Image.open(io.BytesIO(content))
    if image.mode.startswith("I;16"):
        shown = np.asarray(image).astype(float)[..., None] / 257
    elif image.mode in ("F", "I"):  # numbers of any range: what is shown stretches them
        shown = np.asarray(image).astype(float)[..., None]
        shown = (shown - shown.min()) / max(np.ptp(shown), 1e-9) * 255
    else:
        shown = np.asarray(image.convert("RGB")).astype(float)
    return float(np.abs(shown - read[..., ::-1]).mean())
