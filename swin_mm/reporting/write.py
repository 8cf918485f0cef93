"""A page on disk: never in the place of another unless asked, never half of it."""

from __future__ import annotations

import os

from swin_mm.engine.errors import UsageError
from swin_mm.engine.whole_files import write_whole


def require_room(path: str, *, force: bool) -> None:
    """Check, before anything slow, that a page may be written.

    Raises:
        UsageError: if there is a file of the name, or no folder for it, or it takes none.
    """
    if os.path.isdir(path):
        raise UsageError(f"--out names a file, {path} is a folder: --out {path}/report.html")
    if os.path.exists(path) and not os.path.isfile(path):
        raise UsageError(f"--out names a file to be replaced, {path} is a device: name another")
    if os.path.exists(path) and not force:
        raise UsageError(f"{path} exists: --force replaces it, --out FILE writes another")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"--out {path}: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--out {path}: nothing can be written into {folder}; name another place")


def write_page(page: str, path: str) -> None:
    """Write a page beside, then rename it.

    Bytes of a file's name that are no UTF-8 are written as the numbers that they are.
    """
    write_whole(path, page.encode("utf-8", errors="backslashreplace"))
