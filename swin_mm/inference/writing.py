"""Files that are whole or not there: written beside, then renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def write_png(path: str, picture: np.ndarray) -> None:
    """Write (H, W, 3) RGB or (H, W) gray of one byte or two."""
    import cv2

    encoded = cv2.imencode(".png", picture[..., ::-1] if picture.ndim == 3 else picture)[1]
    write(path, lambda part: encoded.tofile(part))


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
    """Let a file be written beside, then rename it, so that no half of one bears its name."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.part"
    write_part(part)
    os.replace(part, path)
