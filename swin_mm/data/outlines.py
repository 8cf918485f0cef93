"""Masks as COCO tells them: polygons for things, run lengths for crowds."""

import functools

import cv2
import numpy as np

_FINER = 3  # the outline is sought on a grid this much finer than the pixels
_TOLERANCE = 1.0  # of that grid: how far a polygon may leave the outline
_CORNER = np.ones((2, 2), np.uint8)


def outlines(cover: np.ndarray, corner: tuple[int, int]) -> list[list[np.ndarray]]:
    """Outline what is covered by half or more, to a fraction of a pixel.

    Args:
        cover: covered share of each pixel, (h, w) in 0..1.
        corner: column and row of the picture where `cover` begins.

    Returns:
        For each connected part its rim, then the rims of its holes, each an
        (N, 2) float array of x and y in px from the picture's corner (the
        middle of the first pixel is (0.5, 0.5)).
    """
    height, width = cover.shape
    grey = cv2.convertScaleAbs(cover, alpha=255)
    fine = cv2.resize(grey, (width * _FINER, height * _FINER), interpolation=cv2.INTER_LINEAR)
    # Corners of the grid's cells, not their middles: a corner is in if a cell that it touches is.
    inside = cv2.copyMakeBorder(fine, 0, 1, 0, 1, cv2.BORDER_CONSTANT)
    inside = cv2.dilate(cv2.threshold(inside, 127, 1, cv2.THRESH_BINARY)[1], _CORNER, anchor=(1, 1))
    rings, tree = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    parts: dict[int, list[np.ndarray]] = {}
    parents = [] if tree is None else tree[0, :, 3].tolist()
    for k in sorted(range(len(rings)), key=lambda k: parents[k] >= 0):  # rims before holes
        parent = parents[k]
        ring = cv2.approxPolyDP(rings[k], _TOLERANCE, True)[:, 0] / _FINER + corner
        if len(ring) >= 3 and (parent < 0 or parent in parts):
            parts.setdefault(k if parent < 0 else parent, []).append(ring)
    return list(parts.values())


def polygons(cover: np.ndarray, corner: tuple[int, int]) -> list[np.ndarray]:
    """Outline what is covered by half or more as COCO does, one (N, 2) polygon a connected part.

    A polygon of COCO has no holes: a hole is joined to its surroundings by a
    slit of no width, walked once each way, as annotators do by hand. What is
    smaller than a pixel is left out.

    Args:
        cover: covered share of each pixel, (h, w) in 0..1.
        corner: column and row of the picture where `cover` begins.
    """
    parts = [functools.reduce(_slit, rings) for rings in outlines(cover, corner)]
    return [part for part in parts if area([part]) >= 1]


def _slit(ring: np.ndarray, hole: np.ndarray) -> np.ndarray:
    """Join a hole to the ring around it at the nearest pair of their corners."""
    apart = ((ring[:, None] - hole) ** 2).sum(axis=2)
    here, there = np.unravel_index(apart.argmin(), apart.shape)
    tour = np.roll(hole, -there, axis=0)
    return np.concatenate([ring[: here + 1], tour, tour[:1], ring[here:]])


def area(parts: list[np.ndarray]) -> float:
    """The area of all parts of a thing, px^2, without the holes that slits lead to."""
    return sum(cv2.contourArea(part.astype(np.float32)) for part in parts)


def run_lengths(mask: np.ndarray) -> dict[str, list[int]]:
    """COCO's uncompressed code of a mask: runs down the columns, the first one of zeros."""
    flat = mask.T.reshape(-1)
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    runs = np.diff(np.concatenate([[0], turns, [flat.size]])).tolist()
    return {"counts": [0, *runs] if flat[0] else runs, "size": list(mask.shape)}
