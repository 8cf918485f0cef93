"""Pictures of truth and prediction, small enough to lie inside the page."""

from __future__ import annotations

import base64
import colorsys
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from matplotlib.colors import TABLEAU_COLORS, to_rgb

BUDGET = 3_500_000  # bytes of all pictures of a page
# Longer side, px, and JPEG quality, from the best to what is still worth looking at.
_SIZES = ((560, 85), (512, 80), (448, 75), (384, 70), (320, 65), (256, 60), (192, 50))
_CHIPS = 8


@dataclass(frozen=True)
class Item:
    """An object, or a region of one label.

    Attributes:
        label: counted from 0.
        mask: where it is, (H, W) bool, or nothing.
        box: left, top, width, height, px, or nothing.
    """

    label: int
    mask: np.ndarray | None = None
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Look:
    """How a label is shown: its name and its colour, RGB, 0 to 255."""

    name: str
    colour: tuple[int, int, int]


@dataclass(frozen=True)
class Chip:
    """A class in a picture's caption: its colour as CSS has it, its name, how much there is."""

    colour: str
    name: str
    amount: str


@dataclass(frozen=True)
class Side:
    """One of the two halves of a sample: a picture as data URI, and what is in it.

    Classes beyond the most frequent are only named, in `more`.
    """

    title: str
    picture: str
    chips: tuple[Chip, ...]
    more: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """A picture with its truth and its prediction.

    Attributes:
        reason: `worst`, `best` or `random`.
        name: of the file.
        measure: 0 to 1.
        sides: truth, prediction.
    """

    reason: str
    name: str
    measure: float
    sides: tuple[Side, ...]


def draw_side(
    title: str, picture: np.ndarray, items: Sequence[Item], *, looks: Sequence[Look], limit: int
) -> Side:
    """Draw what is in a picture, and list it.

    Args:
        title: of this side.
        picture: (H, W, 3) uint8 BGR; left as it is.
        items: what is there; large ones are drawn first.
        looks: of the labels.
        limit: bytes that the picture may take.
    """
    drawn = picture.copy()
    for item in sorted(items, key=_area, reverse=True):
        colour = looks[item.label].colour[::-1]
        if item.mask is not None:
            drawn[item.mask] = (0.45 * drawn[item.mask] + 0.55 * np.array(colour)).astype(np.uint8)
            edges, _ = cv2.findContours(
                item.mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
            )
            cv2.drawContours(drawn, edges, -1, colour, _width(picture))
        if item.box is not None:
            left, top, width, height = item.box
            corners = (round(left), round(top)), (round(left + width), round(top + height))
            cv2.rectangle(drawn, *corners, (255, 255, 255), _width(picture) + 2)
            cv2.rectangle(drawn, *corners, colour, _width(picture))
    chips = _chips(items, looks, picture.shape[:2])
    more = tuple(f"{chip.name} {chip.amount}" for chip in chips[_CHIPS:])
    return Side(title, encode(drawn, limit), chips[:_CHIPS], more)


def encode(picture: np.ndarray, limit: int) -> str:
    """Write a picture as a JPEG data URI, as large as the bytes allow.

    Args:
        picture: (H, W, 3) uint8 BGR.
        limit: bytes; the smallest size is taken even where it is larger.
    """
    for side, quality in _SIZES:
        scale = min(side / max(picture.shape[:2]), 1.0)
        sides = [max(round(length * scale), 1) for length in picture.shape[1::-1]]
        small = cv2.resize(picture, sides, interpolation=cv2.INTER_AREA)
        _, data = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, quality])
        text = base64.b64encode(data).decode()
        if len(text) <= limit:
            break
    return f"data:image/jpeg;base64,{text}"


def read_picture(path: str) -> np.ndarray | None:
    """Read a picture, (H, W, 3) uint8 BGR, as the pipelines do; nothing where there is none."""
    return cv2.imread(path, cv2.IMREAD_COLOR) if os.path.isfile(path) else None


def _area(item: Item) -> float:
    if item.mask is not None:
        return float(item.mask.sum())
    return item.box[2] * item.box[3] if item.box is not None else 0.0


def _width(picture: np.ndarray) -> int:
    """Lines that stay two pixels wide when the picture is made smaller."""
    return max(2, round(2 * max(picture.shape[:2]) / _SIZES[0][0]))


def colours_for(ranked: Sequence[int], count: int) -> list[tuple[int, int, int]]:
    """Choose RGB for each label: the plainest for those that occur most, for they meet most.

    Args:
        ranked: labels, the most frequent first.
        count: of all labels.
    """
    plain = [name for name in TABLEAU_COLORS if name != "tab:gray"]
    chosen = [tuple(round(255 * one) for one in to_rgb(name)) for name in plain]
    # Beyond them hues a golden section apart, so that neighbours differ.
    for number in range(count - len(chosen)):
        lightness = (0.35, 0.68, 0.5)[number % 3]
        rgb = colorsys.hls_to_rgb((0.05 + number * 0.618034) % 1, lightness, 0.8)
        chosen.append(tuple(round(255 * one) for one in rgb))
    order = [*ranked, *(label for label in range(count) if label not in set(ranked))]
    return [colour for _, colour in sorted(zip(order, chosen, strict=False))]


def _chips(
    items: Sequence[Item], looks: Sequence[Look], shape: tuple[int, int]
) -> tuple[Chip, ...]:
    counts = Counter(item.label for item in items)
    if all(item.box is not None for item in items):
        ranked = [(label, str(count)) for label, count in counts.most_common()]
    else:
        shares = {item.label: _area(item) / (shape[0] * shape[1]) for item in items}
        ranked = [(one, f"{shares[one]:.0%}") for one in sorted(shares, key=lambda k: -shares[k])]
        ranked = [(label, "<1%" if share == "0%" else share) for label, share in ranked]
    return tuple(Chip(f"rgb{looks[one].colour}", looks[one].name, text) for one, text in ranked)
