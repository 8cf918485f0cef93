"""What became of every tensor of a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Resized:
    """A tensor that came in another shape.

    Attributes:
        name: our name.
        before: its shape in the file.
        after: its shape in the model.
        how: what was done.
    """

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str


@dataclass(frozen=True)
class Dropped:
    """A tensor that the model does not take.

    Attributes:
        name: its name in the file.
        why: the reason.
        expected: whether nothing of the network is lost with it.
    """

    name: str
    why: str
    expected: bool


@dataclass(frozen=True)
class LoadReport:
    """What a checkpoint gave to a backbone. ``str`` gives a line, :meth:`table` all of it.

    Attributes:
        layout: whose names the file has.
        version: of the network in it, 1 or 2.
        container: where in the file the tensors lay; empty for a bare file.
        prefix: what stood before the backbone's names; may be empty.
        loaded: our names of all tensors taken.
        resized: those of them that came in another shape, and buffers of another window.
        reordered: those of them whose values changed places.
        dropped: what was left in the file.
        new: our names of what the file could not have, output norms and what a model of the user's
            own adds to a Swin: they keep their first values.
        missing: our names of what the file should have, but does not.
        assumed: what the file does not say and was taken for given, in words; may be empty.
    """

    layout: str
    version: int
    container: str
    prefix: str
    loaded: tuple[str, ...]
    resized: tuple[Resized, ...]
    reordered: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    new: tuple[str, ...]
    missing: tuple[str, ...]
    assumed: str = ""

    @property
    def surprises(self) -> tuple[Dropped, ...]:
        """What was left in the file though the network had been trained with it."""
        return tuple(dropped for dropped in self.dropped if not dropped.expected)

    def __str__(self) -> str:
        place = f" in {self.container!r}" if self.container else ""
        place += f" under {self.prefix!r}" if self.prefix else ""
        network = " (SwinV2)" if self.version == 2 else ""
        parts = [f"layout {self.layout}{network}{place}: {len(self.loaded)} tensors loaded"]
        if self.reordered:
            parts[0] += f", {len(self.reordered)} reordered"
        for how, number in Counter(resized.how for resized in self.resized).items():
            parts[0] += f", {number} resized ({how})"
        if self.new:
            parts.append(f"new: {_layers(self.new)}")
        if self.missing:
            parts.append(f"missing: {_layers(self.missing)}")
        if self.surprises:
            why = "; ".join(sorted({dropped.why for dropped in self.surprises}))
            names = _layers(dropped.name for dropped in self.surprises)
            parts.append(f"dropped: {names} ({why})")
        if self.assumed:
            parts.append(self.assumed)
        return "; ".join(parts)

    def table(self) -> str:
        """Say what became of every tensor, one a line."""
        resized = {entry.name: entry for entry in self.resized}
        rows = []
        for name in self.loaded:
            said = "reordered" if name in self.reordered else "loaded"
            if entry := resized.get(name):
                said = f"resized: {_shape(entry.before)} -> {_shape(entry.after)}, {entry.how}"
            rows.append((name, said))
        rows += [
            (name, f"not read: {_shape(entry.before)} -> {_shape(entry.after)}, {entry.how}")
            for name, entry in resized.items()
            if name not in self.loaded
        ]
        rows += [(name, "new, keeps its first values") for name in self.new]
        rows += [(name, "missing, keeps its first values") for name in self.missing]
        rows += [(entry.name, f"dropped: {entry.why}") for entry in self.dropped]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {said}" for name, said in rows)


def _layers(names: Iterable[str], most: int = 6) -> str:
    """List the layers that tensors belong to, the first few."""
    layers = list(dict.fromkeys(re.sub(r"\.(weight|bias)$", "", name) for name in names))
    more = f" and {len(layers) - most} more" if len(layers) > most else ""
    return ", ".join(layers[:most]) + more


def times(sides: Iterable[int]) -> str:
    """Write height and width, 7x14."""
    return "x".join(map(str, sides))


def said_sides(windows: Iterable[Iterable[int]]) -> str:
    """Write the windows of all stages: 16x16, or 16x16, 16x16, 16x16, 8x8 where they differ."""
    said = [times(window) for window in windows]
    return said[0] if len(set(said)) == 1 else ", ".join(said)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
