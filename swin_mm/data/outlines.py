"""Masks as COCO tells them: polygons for things, run lengths for crowds."""

import cv2
import numpy as np

_FINER = 3  # the outline is sought on a grid this much finer than the pixels
_TOLERANCE = 1.0  # of that grid: how far a polygon may leave the outline
_CORNER = np.ones((2, 2), np.uint8)


def polygons(cover: np.ndarray, corner: tuple[int, int]) -> list[np.ndarray]:
    """Outline what is covered by half or more, to a fraction of a pixel.

    A polygon of COCO has no holes: a hole is joined to its surroundings by a
    slit of no width, walked once each way, as annotators do by hand.

    Args:
        cover: Covered share of each pixel, (h, w) in 0..1.
        corner: Column and row of the picture where `cover` begins.

    Returns:
        One (N, 2) float array of x and y a connected part, in px from the
        picture's corner (the middle of the first pixel is (0.5, 0.5)).
    """
    height, width = cover.shape
    grey = cv2.convertScaleAbs(cover, alpha=255)
    fine = cv2.resize(grey, (width * _FINER, height * _FINER), interpolation=cv2.INTER_LINEAR)
    # Corners of the grid's cells, not their middles: a corner is in if a cell that it touches is.
    inside = cv2.copyMakeBorder(fine, 0, 1, 0, 1, cv2.BORDER_CONSTANT)
    inside = cv2.dilate(cv2.threshold(inside, 127, 1, cv2.THRESH_BINARY)[1], _CORNER, anchor=(1, 1))
    rings, tree = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    if not rings:
        return []
    rings = [cv2.approxPolyDP(ring, _TOLERANCE, True)[:, 0] for ring in rings]
    parts = []
    for ring, (_, _, child, parent) in zip(rings, tree[0], strict=True):
        if parent >= 0 or len(ring) < 3:
            continue
        while child >= 0:
            if len(rings[child]) >= 3:
                ring = _slit(ring, rings[child])
            child = tree[0][child][0]
        parts.append(ring / _FINER + np.array(corner))
    return [part for part in parts if area([part]) >= 1]


def _slit(ring: np.ndarray, hole: np.ndarray) -> np.ndarray:
    """Join a hole to the ring around it at the nearest pair of their corners."""
    apart = ((ring[:, None].astype(np.int64) - hole[None]) ** 2).sum(axis=2)
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
