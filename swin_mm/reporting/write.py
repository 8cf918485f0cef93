"""A page on disk: never in the place of another unless asked, never half of it."""

from __future__ import annotations

import os

from swin_mm.engine.errors import UsageError

_PART = ".part"


def require_room(path: str, *, force: bool) -> None:
    """Check, before anything slow, that a page may be written.

    Raises:
        UsageError: if there is a file of the name, or no folder for it.
    """
    if os.path.isdir(path):
        raise UsageError(f"--out names a file, {path} is a folder: --out {path}/report.html")
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} exists: --force replaces it, --out FILE writes another")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"--out {path}: there is no folder {folder}")


def write_page(page: str, path: str) -> None:
    """Write a page beside, then rename it."""
    with open(path + _PART, "w", encoding="utf-8") as file:
        file.write(page)
    os.replace(path + _PART, path)
