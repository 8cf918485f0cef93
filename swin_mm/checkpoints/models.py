"""Where a whole model is in a file: what wrappers put before its own names."""

from __future__ import annotations

from collections.abc import Iterable

from swin_mm.checkpoints.detect import detect
from swin_mm.checkpoints.errors import CheckpointError

BACKBONE = "backbone."


def without_module(name: str) -> str:
    """Take off what DDP puts before a name, as often as it does."""
    while name.startswith("module."):
        name = name.removeprefix("module.")
    return name


def prefix_of_swin(names: Iterable[str]) -> str | None:
    """Find what stands before a Swin's names; None if there is none, or several."""
    try:
        return detect(names).prefix
    except CheckpointError:
        return None


def prefix_of_model(names: Iterable[str]) -> str | None:
    """Find what stands before `backbone.` in the names of a whole model, as `detector.`.

    Returns:
        Empty if nothing does; None if the file's Swin is no `backbone`, or there is none.
    """
    prefix = prefix_of_swin(names)
    if prefix is None or not f".{prefix}".endswith(f".{BACKBONE}"):
        return None
    return prefix.removesuffix(BACKBONE)
