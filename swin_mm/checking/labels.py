"""Label pictures of segmentation: one class number a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swin_mm.checking.reading import DECODED, BrokenFile, open_header, read_bytes, require_whole
from swin_mm.checking.sources import Reader

_SHOWN = 5  # wrong labels of a picture that are named


@dataclass(frozen=True)
class Meaning:
    """What the numbers of a label picture mean in training.

    Attributes:
        fit: which of 0..255 are a class or ignored, (256,).
        void: which are ignored, (256,).
        rule: the same in words.
    """

    fit: np.ndarray
    void: np.ndarray
    rule: str

    @classmethod
    def of(cls, classes: int, *, reduce_zero: bool, ignore: int, mapped: dict | None) -> Meaning:
        """Turn every number as MMSegmentation's `LoadAnnotations` does.

        Args:
            classes: how many the data set has.
            reduce_zero: `reduce_zero_label`: 0 is ignored, and 1 is the first class.
            ignore: the number that losses leave out, after all turns.
            mapped: `label_map` from the data set's own classes to the config's.
        """
        turned = np.arange(256)
        if reduce_zero:
            turned = np.where(turned == 0, 255, turned) - 1
            turned[turned == 254] = 255
        before = turned.copy()
        for old, new in (mapped or {}).items():
            turned[before == old] = new
        void = turned == ignore
        numbers = len(mapped) if mapped else classes
        first, last = (1, numbers) if reduce_zero else (0, numbers - 1)
        ignored = " and ".join(str(number) for number in np.flatnonzero(void))
        rule = f"{first} to {last} are classes; ignored: {ignored or 'none'}"
        return cls((turned < classes) | void, void, rule)


def look_at_labels(path: str, reader: Reader, meaning: Meaning) -> tuple[tuple[int, int], bool]:
    """Open a label picture as the pipeline does.

    Returns:
        Width and height, px, and whether anything in it is not ignored.

    Raises:
        BrokenFile: if it cannot be read, or holds something else than classes.
    """
    import mmcv

    content = read_bytes(path, reader.storage)
    image = open_header(content, reader.backend)
    size, mode = image.size, image.mode
    if size[0] * size[1] > DECODED:
        return size, True
    require_whole(content, image)
    try:
        labels = mmcv.imfrombytes(content, flag="unchanged", backend=reader.backend)
    except Exception as error:  # decoders fail in any way
        told = " ".join(str(error).split())
        raise BrokenFile("file-unreadable", f"{reader.backend} fails: {told}") from error
    if labels is None:
        raise BrokenFile("file-unreadable", f"{reader.backend} reads nothing from it")
    if labels.ndim != 2:
        met = f"{labels.shape[2]} channels as {reader.backend} reads it (mode {mode} of Pillow)"
        raise BrokenFile("label-colours", met)
    if labels.dtype.kind == "f":
        raise BrokenFile("label-colours", f"numbers of type {labels.dtype}")
    numbers, counts = np.unique(labels, return_counts=True)
    numbers = numbers.astype(np.int64)
    small = (numbers >= 0) & (numbers < 256)
    fit = np.zeros(len(numbers), bool)
    fit[small] = meaning.fit[numbers[small]]
    if not fit.all():
        strays = ", ".join(
            f"{number} on {count} px"
            for number, count in list(zip(numbers[~fit], counts[~fit], strict=True))[:_SHOWN]
        )
        raise BrokenFile("label-beyond", f"{strays}; {meaning.rule}")
    return size, not meaning.void[numbers].all()
