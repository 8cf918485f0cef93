"""Carry tensors from a layout's names and order to ours, by its table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from swin_mm.checkpoints.detect import Found
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats.layout import (
    Place,
    Row,
    our_names,
    place_beside,
    place_in_ours,
    their_names,
)
from swin_mm.checkpoints.report import Dropped


@dataclass
class Renamed:
    """A file's tensors under our names.

    Attributes:
        tensors: by our names, in our order.
        keys: the file's name of each of them, the first where it came in parts.
        reordered: our names of those whose values changed places.
        dropped: what has no place in the layout's table.
    """

    tensors: dict[str, Tensor] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    reordered: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


@dataclass
class _Group:
    """The tensors of one row that belong together.

    Attributes:
        place: of the first of them.
        rank: which of two spellings goes before the other: a norm beside the backbone before the
            one within, a name that is written before one that is only read.
        parts: the file's name and the tensor, by part.
    """

    place: Place
    rank: int
    parts: dict[int, tuple[str, Tensor]] = field(default_factory=dict)


def to_our_names(tensors: Mapping[str, Tensor], found: Found) -> Renamed:
    """Rename and reorder the backbone of a file.

    Raises:
        CheckpointError: if a tensor that is to be reordered has no such shape, or a part lacks.
    """
    renamed = Renamed()
    groups: dict[tuple[str, ...], _Group] = {}
    for key, tensor in tensors.items():
        group = _place(key, found)
        if group is None:
            renamed.dropped.append(_dropped(key, found))
            continue
        names = our_names(group.place.row, dict(group.place.fields), found.last)
        known = groups.setdefault(names, group)
        group.parts[group.place.part] = (key, tensor)
        if known.place.row is group.place.row:
            known.parts.update(group.parts)
            continue
        groups[names], loser = (group, known) if group.rank > known.rank else (known, group)
        renamed.dropped += [
            Dropped(other, f"the file has {names[0]} too", expected=True)
            for other, _ in loser.parts.values()
        ]
    for names, group in groups.items():
        _settle(renamed, names, group, found)
    return renamed


def _place(key: str, found: Found) -> _Group | None:
    """Find where a tensor goes, if anywhere."""
    if key.startswith(found.prefix):
        place = place_in_ours(found.layout, key.removeprefix(found.prefix), found.last)
        return place and _Group(place, rank=int(place.row.writes))
    if not key.startswith(found.outer):
        return None
    place = place_beside(found.layout, key.removeprefix(found.outer), found.last)
    return place and _Group(place, rank=2)


def _dropped(key: str, found: Found) -> Dropped:
    """Say why a tensor goes nowhere."""
    if not key.startswith(found.prefix):
        return Dropped(key, "outside the backbone", expected=True)
    inside = key.removeprefix(found.prefix)
    if any(re.fullmatch(form, inside) for form in found.layout.ignores):
        return Dropped(key, "not used by a backbone", expected=True)
    return Dropped(key, f"not a name of {found.layout.name}", expected=False)


def _settle(renamed: Renamed, names: tuple[str, ...], group: _Group, found: Found) -> None:
    """Take the tensors of a row over."""
    row, fields = group.place.row, dict(group.place.fields)
    wanted = their_names(row, fields, found.last)
    if len(group.parts) < len(wanted):
        lacking = [found.prefix + wanted[p] for p in range(len(wanted)) if p not in group.parts]
        raise CheckpointError(
            f"{names[0]} comes in parts, {', '.join(wanted)}; the file lacks {', '.join(lacking)}. "
            "Is it whole?"
        )
    keys, parts = zip(*(group.parts[part] for part in range(len(wanted))), strict=True)
    results = parts if row.rule is None else _apply(row, parts, keys)
    for name, tensor in zip(names, results, strict=True):
        renamed.tensors[name] = tensor
        renamed.keys[name] = keys[0]
        if tensor is not parts[0]:
            renamed.reordered.append(name)


def _apply(row: Row, parts: tuple[Tensor, ...], keys: tuple[str, ...]) -> tuple[Tensor, ...]:
    try:
        made = row.rule.to_ours(*parts)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        shapes = ", ".join(f"{tuple(part.shape)} {_kind(part)}" for part in parts)
        raise CheckpointError(
            f"{', '.join(keys)} must hold {row.rule.wants}, got {shapes}. "
            "The file is damaged or not of the layout it is named like"
        ) from error
    return made if isinstance(made, tuple) else (made,)


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
