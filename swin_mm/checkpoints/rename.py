"""Carry tensors from a layout's names and order to ours, and back, by its table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from swin_mm.checkpoints.anatomy import anatomy_of
from swin_mm.checkpoints.detect import Found, layout_named
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats.layout import Row, place_in_ours, place_in_theirs
from swin_mm.checkpoints.report import Dropped


@dataclass
class Renamed:
    """A file's tensors under our names.

    Attributes:
        tensors: by our names, in our order.
        keys: the file's name of each of them.
        reordered: our names of those whose values changed places.
        dropped: what has no place in the layout's table.
    """

    tensors: dict[str, Tensor] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    reordered: list[str] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def to_our_names(tensors: Mapping[str, Tensor], found: Found) -> Renamed:
    """Rename and reorder the backbone of a file.

    Raises:
        CheckpointError: if a tensor to be reordered has no such shape.
    """
    renamed, rows = Renamed(), {}
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
        other = rows.get(place.name)
        if other is not None:  # a second spelling beside the first
            if place.row.writes:
                key, renamed.keys[place.name] = renamed.keys[place.name], key
                renamed.tensors[place.name] = tensor
            renamed.dropped.append(Dropped(key, f"the file has {place.name} too", expected=True))
            continue
        rows[place.name] = place.row
        renamed.tensors[place.name] = tensor
        renamed.keys[place.name] = key
    for name, row in rows.items():
        if row.tensor is not None:
            renamed.tensors[name] = _apply(row, renamed.tensors[name], renamed.keys[name])
            renamed.reordered.append(name)
    return renamed


def to_layout(tensors: Mapping[str, Tensor], layout: str) -> dict[str, Tensor]:
    """Write a backbone's tensors in another layout; the exact inverse of reading it.

    Args:
        tensors: a backbone's ``state_dict()``, our names.
        layout: one of ``swin_mm.checkpoints.LAYOUTS``.

    Returns:
        The layout's names and order, without prefix.

    Raises:
        CheckpointError: if the layout has no place for a tensor.
    """
    table = layout_named(layout)
    last = len(anatomy_of(tensors).depths) - 1
    written, homeless = {}, []
    for name, tensor in tensors.items():
        place = place_in_theirs(table, name, last)
        if place is None:
            homeless.append(name)
        else:
            rule = place.row.tensor
            written[place.name] = tensor if rule is None else rule.to_theirs(tensor)
    if homeless:
        more = f" and {len(homeless) - 6} more" if len(homeless) > 6 else ""
        raise CheckpointError(
            f"the layout {layout} must have a place for every tensor; it has none for "
            f"{', '.join(homeless[:6])}{more}. Leave them out, or choose another layout"
        )
    return written


def _apply(row: Row, tensor: Tensor, key: str) -> Tensor:
    try:
        return row.tensor.to_ours(tensor)
    except (RuntimeError, IndexError) as error:
        raise CheckpointError(
            f"{key} must hold 4 C merged channels in its last dimension, it is "
            f"{tuple(tensor.shape)}. The file is damaged or not of the layout it is named like"
        ) from error
