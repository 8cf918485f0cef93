"""Masks of instances: polygons and run lengths."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from swin_mm.checking.faults import Fault

_SLIPS = 0.05  # share of its surface that a polygon may lose by crossing itself
_FINE = 8  # a polygon is drawn so many times larger to measure it
_POINTS = 4000  # a longer outline is not compared with itself: squares of it fill the memory


def fault_of_numbers(segmentation: Any, size: tuple[int, int]) -> tuple[str, str] | None:
    """Find the first rule that the numbers of a mask break, without drawing it.

    Args:
        segmentation: polygons, each a list x, y, x, y... in px, or run lengths.
        size: width and height of the picture, px.

    Raises:
        TypeError: if it is neither.
    """
    if isinstance(segmentation, dict):
        return _fault_of_runs(segmentation, size)
    for place, numbers in enumerate(segmentation):
        count = len(numbers)
        if count < 6 or count % 2:
            return "polygon-short", f"polygon {place + 1} has {count} numbers"
        if not math.isfinite(sum(numbers)):
            odd = next((number for number in numbers if not math.isfinite(number)), "too large")
            return "number-not-finite", f"polygon {place + 1} has {odd} among its numbers"
    return None


def check_mask(segmentation: Any, size: tuple[int, int], file: str, record: str) -> Iterator[Fault]:
    """Check what a mask whose numbers are sound covers.

    Args:
        segmentation: polygons or run lengths.
        size: width and height of the picture, px.
        file: the annotation file.
        record: whose mask it is.
    """
    if isinstance(segmentation, dict):
        return  # its numbers say all
    for place, numbers in enumerate(segmentation):
        points = np.asarray(numbers, dtype=float).reshape(-1, 2)
        which = f"polygon {place + 1} of {len(segmentation)}"
        found = _fault_of_outline(points, size)
        if found is not None:
            yield Fault(found[0], file, record, f"{which}: {found[1]}")


def _fault_of_outline(points: np.ndarray, size: tuple[int, int]) -> tuple[str, str] | None:
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    if right <= 0 or bottom <= 0 or left >= size[0] or top >= size[1]:
        met = f"x {left:g} to {right:g}, y {top:g} to {bottom:g} in {size[0]}x{size[1]} px"
        return "polygon-outside", met
    if crosses_itself(points) and (lost := misdrawn(points)) > _SLIPS:
        return "polygon-crossing", f"{lost:.0%} of its surface is in doubt"
    return None


def crosses_itself(points: np.ndarray) -> bool:
    """Whether two sides of an outline (N, 2) cross, ends apart."""
    if not 4 <= len(points) <= _POINTS:
        return False
    ends = np.roll(points, -1, axis=0)
    sides = (ends - points)[:, None]

    def turn(to: np.ndarray) -> np.ndarray:
        """On which side of each side's line points lie, (N, N)."""
        away = to[None] - points[:, None]
        return sides[..., 0] * away[..., 1] - sides[..., 1] * away[..., 0]

    apart = turn(points) * turn(ends) < 0
    return bool((apart & apart.T).any())


def misdrawn(points: np.ndarray) -> float:
    """What share of an outline's surface depends on how crossings are understood.

    Drawn with holes where it lies inside twice, as pycocotools draws, against the area that the
    order of the points encloses: equal for an outline that does not cross itself.
    """
    import cv2

    x, y = (points - points.min(axis=0)).T
    enclosed = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    longest = max(x.max(), y.max(), 1e-9)
    scale = min(_FINE, 2000 / longest)
    outline = np.rint(np.stack([x, y], axis=1) * scale).astype(np.int32)
    canvas = np.zeros(outline.max(axis=0)[::-1] + 1, np.uint8)
    cv2.fillPoly(canvas, [outline], 1)
    border = cv2.arcLength(outline, closed=True) / 2  # half of the border's pixels are too many
    drawn = max((float(canvas.sum()) - border) / scale**2, 0.0)
    return abs(drawn - enclosed) / max(drawn, enclosed, 1e-9)


def _fault_of_runs(runs: dict, size: tuple[int, int]) -> tuple[str, str] | None:
    if list(runs.get("size") or ()) != [size[1], size[0]]:
        met = f"size {runs.get('size')}, height and width are {[size[1], size[0]]}"
        return "rle-size", met
    counts = runs.get("counts")
    if isinstance(counts, str):
        try:
            counts = counts_of(counts)
        except ValueError as error:
            return "rle-broken", f"compressed counts: {error}"
    if not isinstance(counts, list):
        return "rle-broken", f"counts are of type {type(counts).__name__}"
    if sum(counts) != size[0] * size[1] or min(counts) < 0:
        met = f"counts add up to {sum(counts)}, {size[0]}x{size[1]} px are {size[0] * size[1]}"
        return "rle-broken", met
    return None


def counts_of(text: str) -> list[int]:
    """Read compressed run lengths, as pycocotools writes them.

    Five bits a character, low ones first, and one that says whether more follow; from the fourth
    count on the difference to the last but one.

    Raises:
        ValueError: if they end in the middle of a number.
    """
    counts: list[int] = []
    number = shift = 0
    for character in text:
        bits = ord(character) - 48
        number |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            number -= 1 << shift
        counts.append(number + (counts[-2] if len(counts) > 2 else 0))
        number = shift = 0
    if shift:
        raise ValueError("the last number is cut")
    return counts
