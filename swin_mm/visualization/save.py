"""Write a figure as a small PNG."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from swin_mm.visualization.errors import DrawingError


def check_out(path: str | os.PathLike, *, force: bool = False) -> Path:
    """Say where a figure may be written, before the work.

    Raises:
        DrawingError: if the file is no PNG by its name, or is there and not to be replaced.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise DrawingError(f"figures are PNG, --out must end in .png, got {path}")
    if path.is_dir():
        raise DrawingError(f"--out must name a file, {path} is a folder")
    if path.exists() and not force:
        raise DrawingError(f"{path} is there already. Name another, or pass --force")
    return path


def write_png(figure: Figure, path: str | os.PathLike, *, dpi: int = 100) -> Path:
    """Write a figure with 256 colours, which is a third of the size and looks the same.

    Args:
        figure: of 100 px an inch.
        path: written beside and renamed; the folder is made.
        dpi: px an inch; 200 doubles both sides.
    """
    path = Path(path)
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        quantized = picture.quantize(256, kmeans=4, dither=Image.Dither.NONE)
        quantized.save(beside, format="PNG", optimize=True)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path
