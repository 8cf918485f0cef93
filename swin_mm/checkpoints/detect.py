"""Recognise a layout by the names in a file, and the prefix that stands before them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats import LAYOUTS, Layout
from swin_mm.checkpoints.formats.layout import matches, prefix_before


@dataclass(frozen=True)
class Found:
    """What the names of a file tell.

    Attributes:
        layout: the family the file belongs to.
        prefix: what stands before each of the backbone's names, ending in a dot; or empty.
        last: number of the network's last stage, counted from 0.
    """

    layout: Layout
    prefix: str
    last: int


def detect(keys: Iterable[str], *, layout: str | None = None, prefix: str | None = None) -> Found:
    """Find the layout of a file and the prefix of its backbone.

    Shapes and values say nothing here: the order of merged tokens differs between layouts whose
    shapes agree, so it hangs on the names alone.

    Args:
        keys: all names in the file.
        layout: a layout's name, to overrule the signatures.
        prefix: where the backbone is, for files that hold several.

    Raises:
        CheckpointError: if no layout fits, or more than one, or the backbone is there twice.
    """
    keys = list(keys)
    asked = LAYOUTS.values() if layout is None else [layout_named(layout)]
    sites = _sites(keys, asked)
    if prefix is not None:
        wanted = prefix if prefix.endswith(".") or not prefix else f"{prefix}."
        sites = {site: last for site, last in sites.items() if site[1] == wanted}
    found = [
        Found(LAYOUTS[name], before, last)
        for (name, before), last in sites.items()
        if layout is not None or _fits(LAYOUTS[name], keys, before, last)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CheckpointError(_nothing_fits(keys, layout, prefix))
    prefixes = sorted({one.prefix for one in found})
    if len(prefixes) > 1:
        raise CheckpointError(
            "a file must hold one Swin, or the prefix of one of them be given; this one holds "
            f"{len(prefixes)}, under {', '.join(map(repr, prefixes))}. Pass prefix={prefixes[0]!r}"
        )
    names = ", ".join(one.layout.name for one in found)
    raise CheckpointError(
        f"a file must have one layout, this one fits {names}; its names start with "
        f"{_first(keys)}. Pass layout= to choose"
    )


def layout_named(name: str) -> Layout:
    """Return a layout by name.

    Raises:
        CheckpointError: if there is none of that name.
    """
    if name not in LAYOUTS:
        raise CheckpointError(f"layout must be one of {', '.join(LAYOUTS)}, got {name!r}")
    return LAYOUTS[name]


def _sites(keys: list[str], layouts: Iterable[Layout]) -> dict[tuple[str, str], int]:
    """Every layout and prefix whose signature occurs, with the highest number of a stage there."""
    sites: dict[tuple[str, str], int] = {}
    for layout in layouts:
        for key in keys:
            if place := prefix_before(layout.signature, key):
                before, stage = place
                site = (layout.name, before)
                sites[site] = max(stage, sites.get(site, 0))
    return sites


def _fits(layout: Layout, keys: list[str], prefix: str, last: int) -> bool:
    names = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
    needed = not layout.needs or any(
        matches(need, name, last) for need in layout.needs for name in names
    )
    return needed and not any(
        matches(taboo, name, last) for taboo in layout.forbids for name in names
    )


def _nothing_fits(keys: list[str], layout: str | None, prefix: str | None) -> str:
    asked = f"a known layout ({', '.join(LAYOUTS)})" if layout is None else layout
    where = "" if prefix is None else f" under {prefix!r}"
    return (
        f"no Swin found{where}: the names in a file must be those of {asked}; "
        f"this one has {len(keys)}, the first {_first(keys)}. "
        "Is it another network's file, or SwinV2's?"
    )


def _first(keys: list[str]) -> str:
    return ", ".join(repr(key) for key in keys[:5]) if keys else "missing"
