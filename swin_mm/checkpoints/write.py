"""Write tensors of our names in another layout: its table, read backwards."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor

from swin_mm.checkpoints.anatomy import anatomy_of
from swin_mm.checkpoints.detect import table_of
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import BUFFERS
from swin_mm.checkpoints.formats.layout import (
    Layout,
    Row,
    our_names,
    place_in_theirs,
    their_names,
)

_KINDS = (
    (r"norm\d+\..*", "norms per output"),
    (r"absolute_pos_embed", "the absolute position embedding"),
)


def to_layout(
    tensors: Mapping[str, Tensor], layout: str, *, allow_loss: bool = False
) -> dict[str, Tensor]:
    """Write a backbone's tensors in another layout; the exact inverse of reading it.

    Args:
        tensors: a backbone's ``state_dict()``, our names.
        layout: one of ``swin_mm.checkpoints.LAYOUTS``.
        allow_loss: leave out what the layout cannot hold.

    Returns:
        The layout's names and order, without prefix.

    Raises:
        CheckpointError: if the layout has no such network, or no place for a tensor.
    """
    anatomy = anatomy_of(tensors)
    table, last = table_of(layout, anatomy.version), len(anatomy.depths) - 1
    homeless = [name for name in tensors if not _has_place(table, name, last)]
    if homeless and not allow_loss:
        raise CheckpointError(
            f"the layout {layout} must have a place for every tensor; it has none for "
            f"{said_losses(homeless)}. Leave them out, or choose another layout"
        )
    written: dict[str, Tensor] = {}
    for name in tensors:
        place = place_in_theirs(table, name, last)
        if place is None:
            continue
        fields = dict(place.fields)
        keys = their_names(place.row, fields, last)
        if keys[0] in written:  # with another tensor of its row
            continue
        ours = _parts(place.row, fields, tensors, last)
        written.update(zip(keys, _to_theirs(place.row, ours, name), strict=True))
    return written


def losses(tensors: Mapping[str, Tensor], layout: str) -> list[str]:
    """Name the tensors of a backbone that a layout cannot hold; empty if it holds all."""
    anatomy = anatomy_of(tensors)
    table, last = table_of(layout, anatomy.version), len(anatomy.depths) - 1
    return [name for name in tensors if not _has_place(table, name, last)]


def said_losses(names: list[str], most: int = 6) -> str:
    """List tensors, by what they are where that has a name."""
    said: dict[str, list[str]] = {}
    for name in names:
        kind = next((kind for form, kind in _KINDS if re.fullmatch(form, name)), "")
        said.setdefault(kind, []).append(name)
    parts = []
    for kind, members in said.items():
        more = f" and {len(members) - most} more" if len(members) > most else ""
        listed = ", ".join(members[:most]) + more
        parts.append(f"{kind} ({listed})" if kind else listed)
    return "; ".join(parts)


def _has_place(table: Layout, name: str, last: int) -> bool:
    """Whether a layout holds a tensor; what a model makes anew is no loss."""
    return name.endswith(BUFFERS) or place_in_theirs(table, name, last) is not None


def _parts(
    row: Row, fields: Mapping[str, str | int], tensors: Mapping[str, Tensor], last: int
) -> tuple[Tensor, ...]:
    names = our_names(row, fields, last)
    lacking = [name for name in names if name not in tensors]
    if lacking:
        raise CheckpointError(
            f"{', '.join(names)} are one tensor in the other layout, so all must be there; "
            f"{', '.join(lacking)} is not. Is the network whole?"
        )
    return tuple(tensors[name] for name in names)


def _to_theirs(row: Row, ours: tuple[Tensor, ...], name: str) -> tuple[Tensor, ...]:
    if row.rule is None:
        return ours
    try:
        made = row.rule.to_theirs(*ours)
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{name} {tuple(ours[0].shape)} cannot be written as {row.rule.wants}"
        ) from error
    return made if isinstance(made, tuple) else (made,)
