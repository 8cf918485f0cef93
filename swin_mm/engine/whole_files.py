"""Files that are whole or not there: written beside, read back, renamed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from mmengine.fileio import LocalBackend, register_backend

from swin_mm.checkpoints.save import sync_folder

PART = ".part"
WHOLE_FILES = "swin_mm.whole_files"
_CHUNK = 1 << 24  # bytes, of a file in memory once


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file so that a kill, a crash or a full disk leaves the old one or the new one.

    The bytes go beside the path, to the disk, are read back from there and compared; then the file
    takes its name. The folder must be there: one that has vanished with its disk is not made anew.

    Raises:
        OSError: if it cannot be written, or reads otherwise than written. What was at the path is
            still there then, and nothing beside it.
    """
    path = os.fspath(path)
    beside = path + PART
    whole = memoryview(content)
    try:
        with open(beside, "wb") as file:
            for start in range(0, len(whole), _CHUNK):
                file.write(whole[start : start + _CHUNK])
            file.flush()
            os.fsync(file.fileno())
        _compare(beside, whole)
        os.replace(beside, path)
        sync_folder(os.path.dirname(path) or ".")
    except OSError:
        with suppress(OSError):  # room for the next try
            os.unlink(beside)
        raise


def _compare(path: str, whole: memoryview) -> None:
    """Compare a file with what was written, from the disk and not from memory where one can."""
    with open(path, "rb") as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start = 0
        while start < len(whole):
            read = file.read(_CHUNK)
            if not read or read != whole[start : start + len(read)]:
                raise OSError(errno.EIO, "reads otherwise than it was written", path)
            start += len(read)
        if file.read(1):
            raise OSError(errno.EIO, "is longer than it was written", path)


class WholeFiles(LocalBackend):
    """MMEngine's local files, put by `write_whole`; it asks for them by `backend_args`."""

    def put(self, obj: bytes, filepath: str | Path) -> None:
        """Write bytes to a file whose folder is there."""
        write_whole(filepath, obj)


register_backend(WHOLE_FILES, WholeFiles, force=True)
