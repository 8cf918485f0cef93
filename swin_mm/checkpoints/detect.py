"""Recognise a layout by the names in a file, and the prefix that stands before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.formats import LAYOUTS, Layout
from swin_mm.checkpoints.formats.patterns import match, prefix_before


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

    @property
    def outer(self) -> str:
        """What stands before the prefix's last part: `module.` of `module.swin.`."""
        before, dot, _ = self.prefix.removesuffix(".").rpartition(".")
        return before + dot


# In every layout, `features.1.0.attn.logit_scale` of torchvision's included.
_OF_SWIN_V2 = re.compile(r"\.\d+\.(attn|attention)\.(\w+\.)*logit_scale$")

# What an averaged copy of a network is called beside the one that is trained.
_COPIES = {"encoder_k", "momentum_encoder", "encoder_momentum", "ema_model", "model_ema", "ema"}
_COPIES |= {"ema_backbone", "backbone_ema"}


def detect(keys: Iterable[str], *, layout: str | None = None, prefix: str | None = None) -> Found:
    """Find the layout of a file and the prefix of its backbone.

    Shapes and values say nothing here: the order of merged tokens differs between layouts whose
    shapes agree, so it hangs on the names alone. Of a network and its averaged copy in one file
    the network is taken.

    Args:
        keys: all names in the file.
        layout: a layout's name, to overrule the signatures.
        prefix: where the backbone is, for files that hold several.

    Raises:
        CheckpointError: if no layout fits, or more than one, or the backbone is there twice.
    """
    keys = list(keys)
    asked = list(LAYOUTS) if layout is None else [check_layout(layout)]
    sites = _sites(keys, [table for name in asked for table in LAYOUTS[name].values()])
    if prefix is not None:
        wanted = prefix if prefix.endswith(".") or not prefix else f"{prefix}."
        sites = {site: last for site, last in sites.items() if site[1] == wanted}
    found = [
        Found(table, before, last)
        for (signature, before), last in sites.items()
        for table in _tables_of(signature, asked)
        if _fits(table, keys, before, last, overruled=layout is not None)
    ]
    if len({one.prefix for one in found}) > 1:
        found = [one for one in found if not _COPIES.intersection(one.prefix.split("."))] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise CheckpointError(_nothing_fits(keys, layout, prefix, sites))
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


def check_layout(name: str) -> str:
    """Return the name of a family of layouts if there is one.

    Raises:
        CheckpointError: if there is none of that name.
    """
    if name not in LAYOUTS:
        raise CheckpointError(f"layout must be one of {', '.join(LAYOUTS)}, got {name!r}")
    return name


def table_of(name: str, version: int) -> Layout:
    """Return the table of a family for a version of the network.

    Raises:
        CheckpointError: if there is no such family, or it has no network of that version.
    """
    tables = LAYOUTS[check_layout(name)]
    if version not in tables:
        others = [other for other, tables in LAYOUTS.items() if version in tables]
        hint = ". MMPretrain's SwinV1 is openmmlab" if name == "mmpretrain" else ""
        raise CheckpointError(
            f"the layout {name} has no SwinV{version}; those that have are "
            f"{', '.join(others)}{hint}"
        )
    return tables[version]


def _sites(keys: list[str], tables: Iterable[Layout]) -> dict[tuple[str, str], int]:
    """Every signature and prefix that occur, with the highest number of a stage there."""
    sites: dict[tuple[str, str], int] = {}
    for signature in dict.fromkeys(table.signature for table in tables):
        for key in keys:
            if place := prefix_before(signature, key):
                before, stage = place
                site = (signature, before)
                sites[site] = max(stage, sites.get(site, 0))
    return sites


def _tables_of(signature: str, asked: Iterable[str]) -> Iterator[Layout]:
    for name in asked:
        for table in LAYOUTS[name].values():
            if table.signature == signature:
                yield table


def _fits(table: Layout, keys: list[str], prefix: str, last: int, *, overruled: bool) -> bool:
    """Whether the names under a prefix are a layout's; version alone counts if it is overruled."""
    names = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
    if table.version != (2 if any(map(_OF_SWIN_V2.search, names)) else 1):
        return False
    if overruled:
        return True
    needed = not table.needs or _any_matches(table.needs, names, last)
    return needed and not _any_matches(table.forbids, names, last)


def _any_matches(patterns: Iterable[str], names: list[str], last: int) -> bool:
    return any(match(pattern, name, last) is not None for pattern in patterns for name in names)


def _nothing_fits(
    keys: list[str],
    layout: str | None,
    prefix: str | None,
    sites: Mapping[tuple[str, str], int],
) -> str:
    asked = f"a known layout ({', '.join(LAYOUTS)})" if layout is None else layout
    where = "" if prefix is None else f" under {prefix!r}"
    if sites and layout is None:
        signature, before = next(iter(sites))
        near = [name for name in LAYOUTS if [*_tables_of(signature, [name])]]
        return (
            f"a Swin must have the names of one layout; under {before!r} stand names as "
            f"{before}{signature} of {' or '.join(near)}, beside others that none of them has "
            f"together. If you know whose the file is, pass layout={near[0]!r}"
        )
    return (
        f"no Swin found{where}: the names in a file must be those of {asked}; "
        f"this one has {len(keys)}, the first {_first(keys)}. "
        "Is it another network's file?"
    )


def _first(keys: list[str]) -> str:
    return ", ".join(repr(key) for key in keys[:5]) if keys else "missing"
