"""Carry tensors from a layout's names and order to ours, by its table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from swin_mm.checkpoints.detect import Found
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats.layout import Place, Row, our_names, place_in_ours, their_names
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
    """The tensors of one row that belong together, by their part."""

    place: Place
    parts: dict[int, tuple[str, Tensor]] = field(default_factory=dict)


def to_our_names(tensors: Mapping[str, Tensor], found: Found) -> Renamed:
    """Rename and reorder the backbone of a file.

    Raises:
        CheckpointError: if a tensor that is to be reordered has no such shape, or a part lacks.
    """
    renamed = Renamed()
    claims: dict[tuple[str, ...], _Group] = {}
    for key, tensor in tensors.items():
        if not key.startswith(found.prefix):
            renamed.dropped.append(Dropped(key, "outside the backbone", expected=True))
            continue
        inside = key.removeprefix(found.prefix)
        place = place_in_ours(found.layout, inside, found.last)
        if place is None:
            known = any(re.fullmatch(form, inside) for form in found.layout.ignores)
            why = "not used by a backbone" if known else f"not a name of {found.layout.name}"
            renamed.dropped.append(Dropped(key, why, expected=known))
            continue
        names = our_names(place.row, dict(place.fields), found.last)
        group = claims.setdefault(names, _Group(place))
        if group.place.row is not place.row:  # a second spelling beside the first
            loser = group if place.row.writes else _Group(place, {place.part: (key, tensor)})
            renamed.dropped += [
                Dropped(key, f"the file has {names[0]} too", expected=True)
                for key, _ in loser.parts.values()
            ]
            if loser is not group:
                continue
            group = claims[names] = _Group(place)
        group.parts[place.part] = (key, tensor)
    for names, group in claims.items():
        _settle(renamed, names, group, found)
    return renamed


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
