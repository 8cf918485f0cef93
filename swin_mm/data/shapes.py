"""What the six kinds look like: parts, in painter's order, on a plane of one unit.

x goes right, y down; a thing reaches about from -0.5 to 0.5 along its longer
side. Nothing here knows of pixels, colours or light.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .palettes import Tone


@dataclass(frozen=True)
class Part:
    """One painted area of a thing.

    Attributes:
        rings: closed outlines, each (N, 2); one inside another cuts a hole.
        tone: which colour of the palette it takes.
        inner: True for markings that lie on other parts and add nothing to the silhouette.
    """

    rings: tuple[np.ndarray, ...]
    tone: Tone
    inner: bool = False


Drawing = tuple[Part, ...]


def arc(radius: float, start: float = 0.0, stop: float = 1.0, steps: int = 64) -> np.ndarray:
    """Points of a circle from turn `start` to turn `stop`, clockwise from the right, (steps, 2)."""
    last = steps if stop - start >= 1 else max(1, steps - 1)  # a whole circle closes by itself
    angle = (2 * np.pi) * (start + np.arange(steps) * ((stop - start) / last))
    points = np.empty((steps, 2))
    np.cos(angle, out=points[:, 0])
    np.sin(angle, out=points[:, 1])
    return points * radius


def ring(radii: np.ndarray) -> np.ndarray:
    """A closed line around the origin at these radii, clockwise from the right, (N, 2)."""
    return arc(1.0, steps=len(radii)) * radii[:, None]


def ribbon(line: np.ndarray, width: float) -> np.ndarray:
    """The outline of a band of some width along a line of (N, 2) points."""
    steps = line[1:] - line[:-1]
    along = np.concatenate([steps[:1], steps[:-1] + steps[1:], steps[-1:]])
    along *= (width / 2) / np.hypot(along[:, 0], along[:, 1])[:, None]
    across = along[:, ::-1] * (-1, 1)
    return np.concatenate([line + across, (line - across)[::-1]])


def box(left: float, top: float, right: float, bottom: float) -> np.ndarray:
    """A rectangle's four corners."""
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def mirrored(ring: np.ndarray) -> np.ndarray:
    """The same ring on the other side of the y axis."""
    return ring * (-1, 1)


def ball(rng: np.random.Generator) -> Drawing:
    """A disc with the seams, the gores or the patches of a ball."""
    disc = Part((arc(0.5),), Tone.BODY)
    style = rng.integers(3)
    if style == 0:  # gores that meet in a pole, off the centre
        count = 2 * int(rng.integers(2, 5))
        pole = arc(rng.uniform(0.0, 0.22), start=rng.random(), steps=1)[0]
        gores = []
        for gore in range(0, count, 2):
            rim = arc(0.5, gore / count, (gore + 1) / count, steps=9)
            gores.append(Part((np.vstack([pole, rim]),), Tone.ACCENT, inner=True))
        return (disc, *gores, Part((arc(0.07, steps=16) + pole,), Tone.PALE, inner=True))
    if style == 1:  # one straight seam each way and two curved ones
        width = rng.uniform(0.025, 0.045)
        bow = rng.uniform(0.12, 0.26)
        height = np.linspace(-1, 1, 15)
        seams = [np.stack([0 * height, height * 0.5], 1), np.stack([height * 0.5, 0 * height], 1)]
        for side in (-1, 1):
            ends = 0.5 * np.sin(1.15 * height)
            seams.append(
                np.stack([side * (bow + (0.4 - bow) * height**2) * 0.93, ends * 0.95], axis=1)
            )
        return (disc, *(Part((ribbon(seam, width),), Tone.LINE, inner=True) for seam in seams))
    patches = [arc(rng.uniform(0.13, 0.2), steps=5)]
    for turn in np.arange(5) / 5 + 0.1:
        rim = arc(0.5, turn - 0.055, turn + 0.055, steps=6)
        patches.append(np.vstack([rim, arc(0.36, turn, turn, steps=1)]))
        seam = np.vstack(
            [arc(0.17, turn - 0.1, turn - 0.1, 1), arc(0.36, turn - 0.1, turn - 0.1, 1)]
        )
        patches.append(ribbon(np.vstack([seam[0], seam.mean(0), seam[1]]), 0.02))
    return (disc, *(Part((patch,), Tone.ACCENT, inner=True) for patch in patches))


def donut(rng: np.random.Generator) -> Drawing:
    """A ring with icing of a wavy rim and, mostly, sprinkles."""
    hole, angle = rng.uniform(0.13, 0.19), (2 * np.pi / 60) * np.arange(60)
    waves, phase = rng.integers(5, 10), rng.uniform(0, 2 * np.pi, 3)
    outer = 0.44 + 0.022 * np.sin(waves * angle + phase[0]) + 0.012 * np.sin(3 * angle + phase[1])
    inner = hole + 0.035 + 0.012 * np.sin(5 * angle + phase[2])
    parts = [
        Part((arc(0.5), arc(hole)), Tone.BODY),
        Part((ring(outer), ring(inner)), Tone.ACCENT, inner=True),
    ]
    if rng.random() < 0.8:
        count = int(rng.integers(12, 26))
        turn, lean = 2 * np.pi * rng.random(count), 2 * np.pi * rng.random(count)
        middle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        middle *= rng.uniform(hole + 0.07, 0.39, (count, 1))
        along = 0.032 * np.stack([np.cos(lean), np.sin(lean)], axis=1)
        across = 0.34 * along[:, ::-1] * (-1, 1)
        corners = (along + across, along - across, -along - across, across - along)
        sticks = middle[:, None] + np.stack(corners, axis=1)
        for first, tone in enumerate((Tone.PALE, Tone.EXTRA, Tone.BODY)):
            parts.append(Part(tuple(sticks[first::3]), tone, inner=True))
    return tuple(parts)


def bottle(rng: np.random.Generator) -> Drawing:
    """A body, shoulders and a neck turned on one axis, with a cap and a label."""
    wide, neck = rng.uniform(0.13, 0.2), rng.uniform(0.045, 0.065)
    cap, shoulder, body = -0.4, rng.uniform(-0.26, -0.12), rng.uniform(-0.06, 0.06)
    down = np.linspace(shoulder, body, 10)
    swell = 0.5 - 0.5 * np.cos(np.pi * (down - shoulder) / (body - shoulder))
    profile = [(neck, cap + 0.02), *zip(neck + (wide - neck) * swell, down, strict=True)]
    profile += [(wide, 0.46), (wide - 0.035, 0.5)]
    right = np.array(profile)
    hull = np.vstack([right, mirrored(right)[::-1]])
    top = rng.uniform(0.02, 0.08) + body
    bottom = rng.uniform(0.36, 0.43)
    parts = [
        Part((hull,), Tone.BODY),
        Part((box(-neck - 0.015, -0.5, neck + 0.015, cap + 0.03),), Tone.ACCENT),
        Part((box(-wide, top, wide, bottom),), Tone.ACCENT, inner=True),
        Part((box(-wide, top, wide, top + 0.03),), Tone.LINE, inner=True),
        Part((box(-wide, bottom - 0.03, wide, bottom),), Tone.LINE, inner=True),
    ]
    middle = np.array([0, (top + bottom) / 2])
    badge = arc(0.55 * min(wide, (bottom - top) / 2), steps=int(rng.integers(3, 9))) + middle
    return (*parts, Part((badge,), Tone.PALE, inner=True))


def umbrella(rng: np.random.Generator) -> Drawing:
    """A dome of panels with a scalloped hem, on a stick with a crook."""
    panels = int(rng.integers(4, 7))
    rise, hem, scallop = rng.uniform(0.38, 0.5), rng.uniform(-0.05, 0.02), rng.uniform(0.04, 0.07)
    apex = np.array([0.0, hem - rise])
    crook, side = rng.uniform(0.05, 0.08), rng.choice([-1.0, 1.0])
    hook = arc(crook, 0.0, 0.5, steps=10) * (side, 1) + (-side * crook, 0.5 - crook)
    stick = np.vstack([[0, hem - 0.05], [0, 0.3], hook])
    parts = [
        Part((ribbon(stick, 0.035),), Tone.LINE),
        Part((ribbon(apex + np.array([[0, -0.06], [0, 0.02]]), 0.03),), Tone.LINE),
    ]
    # A rib is a quarter of an ellipse from the apex to its end at the hem.
    ends = -0.5 * np.cos(np.pi * np.arange(panels + 1) / panels)
    fall = np.pi / 2 * np.arange(9) / 8
    ribs = np.empty((panels + 1, 9, 2))
    ribs[..., 0] = ends[:, None] * np.sin(fall)
    ribs[..., 1] = hem - rise * np.cos(fall)
    along = np.arange(1, 6)[:, None] / 6
    bow = (0, scallop) * np.sin(np.pi * along)
    for k in range(panels):
        edge = ribs[k, -1] + (ribs[k + 1, -1] - ribs[k, -1]) * along - bow
        panel = np.concatenate([ribs[k], edge, ribs[k + 1, ::-1]])
        parts.append(Part((panel,), (Tone.BODY, Tone.ACCENT)[k % 2]))
    return tuple(parts)


def kite(rng: np.random.Generator) -> Drawing:
    """A rhombus in four fields with its spars, and a tail with bows."""
    half, cross = rng.uniform(0.24, 0.32), rng.uniform(-0.28, -0.18)
    top, low = np.array([0, -0.5]), np.array([0, rng.uniform(0.12, 0.2)])
    left, right, middle = np.array([-half, cross]), np.array([half, cross]), np.array([0, cross])
    fall = np.linspace(0, 1, 16)
    sway = rng.uniform(0.03, 0.07) * np.sin(2 * np.pi * (rng.uniform(0.8, 1.4) * fall)) * fall**0.5
    tail = np.stack([sway * rng.choice([-1, 1]), low[1] + (0.5 - low[1]) * fall], axis=1)
    tones = (Tone.BODY, Tone.ACCENT)
    flip = int(rng.integers(2))
    parts = [Part((ribbon(tail, 0.02),), Tone.LINE)]
    for knot in tail[[5, 9, 13]]:
        bow = np.array([[-0.06, -0.028], [-0.06, 0.028], [0.06, -0.028], [0.06, 0.028]])
        parts.append(Part((bow + knot,), Tone.ACCENT))
    for k, (one, other) in enumerate(((top, right), (right, low), (low, left), (left, top))):
        parts.append(Part((np.stack([middle, one, other]),), tones[(k + flip) % 2]))
    parts += [
        Part((ribbon(np.stack([top, low]), 0.018),), Tone.LINE, inner=True),
        Part((ribbon(np.stack([left, right]), 0.018),), Tone.LINE, inner=True),
    ]
    return tuple(parts)


def airplane(rng: np.random.Generator) -> Drawing:
    """A fuselage with swept wings, a tail and two engines, seen from above."""
    hull, root = rng.uniform(0.05, 0.07), rng.uniform(-0.14, -0.04)
    chord, sweep, tip = rng.uniform(0.17, 0.23), rng.uniform(0.08, 0.2), rng.uniform(0.05, 0.08)
    span = rng.uniform(0.42, 0.5)
    wing = np.array(
        [[0, root], [span, root + sweep], [span, root + sweep + tip], [0, root + chord]]
    )
    fin = np.array([[0, 0.33], [0.19, 0.41], [0.19, 0.46], [0, 0.45]])
    nose = np.linspace(0, np.pi / 2, 8)
    side = np.stack([hull * np.sin(nose), -0.32 - 0.18 * np.cos(nose)], axis=1)
    half = np.vstack([side, [hull, 0.2], [hull * 0.35, 0.5]])
    ends = np.array([0.55, 0.68])  # of a stripe across the wing, as shares of the span
    front, depth = root + sweep * ends, chord + (tip - sweep - chord) * ends + sweep * ends
    stripe = np.concatenate(
        [np.stack([ends * span, front], 1), np.stack([ends * span, front + depth], 1)[::-1]]
    )
    engine = arc(1.0, steps=20) * (0.032, 0.07) + (span * 0.42, root + sweep * 0.42)
    parts = []
    for turn in (np.asarray, mirrored):
        parts += [
            Part((turn(engine),), Tone.EXTRA),
            Part((turn(wing),), Tone.ACCENT),
            Part((turn(stripe),), Tone.BODY, inner=True),
            Part((turn(fin),), Tone.ACCENT),
        ]
    window = np.array([[-0.6, -0.36], [-0.5, -0.42], [0.5, -0.42], [0.6, -0.36]]) * (hull, 1)
    return (
        *parts,
        Part((np.vstack([half, mirrored(half)[::-1]]),), Tone.BODY),
        Part((window,), Tone.LINE, inner=True),
        Part((ribbon(np.array([[0, 0.26], [0, 0.48]]), 0.025),), Tone.LINE, inner=True),
    )


SHAPES: dict[str, Callable[[np.random.Generator], Drawing]] = {
    "airplane": airplane,
    "umbrella": umbrella,
    "sports ball": ball,
    "kite": kite,
    "bottle": bottle,
    "donut": donut,
}
