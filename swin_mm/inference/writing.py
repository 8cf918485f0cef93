"""Files that are whole or not there: written beside, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from swin_mm.inference.errors import InferenceError


def write_png(path: str, picture: np.ndarray) -> None:
    """Write (H, W, 3) RGB or (H, W) gray of one byte or two."""
    import cv2

    encoded = cv2.imencode(".png", picture[..., ::-1] if picture.ndim == 3 else picture)[1]

    def write_all(part: str) -> None:
        with open(part, "wb") as file:  # NumPy's tofile loses its last bytes in silence
            file.write(encoded.data)

    write(path, write_all)


def write_json(path: str, content: Any) -> None:
    """Write what JSON can hold."""
    write_lines(path, [json.dumps(content, indent=1)])


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines as they come."""

    def write_all(part: str) -> None:
        with open(part, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(f"{line}\n")

    write(path, write_all)


def write(path: str, write_part: Callable[[str], None]) -> None:
    """Let a file be written beside, then rename it, so that no half of one bears its name.

    Raises:
        InferenceError: if it cannot be written, as on a full disk.
    """
    part = part_of(path)
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_part(part)
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):  # room for the next try
            os.unlink(part)
        raise InferenceError(
            f"{path} cannot be written: {error.strerror or error}; what was done before is whole, "
            "and the same command goes on from there"
        ) from error


def part_of(path: str) -> str:
    """Name the file that is written beside."""
    return f"{path}.part"
