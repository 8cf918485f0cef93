"""torch.export's own file: run by torch alone, in Python or C++."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import torch

from swin_mm.export.compare import Run
from swin_mm.export.description import Description


def write(program: Any, path: Path, description: Description) -> None:
    """Write a program.

    Args:
        program: of :func:`swin_mm.export.tracing.trace`.
        path: of the file, which ends in .pt2.
        description: goes into the file as ``swin_mm.json``.
    """
    about = {"swin_mm.json": json.dumps(description.as_metadata(), indent=2)}
    torch.export.save(program, path, extra_files=about)


def load(path: Path) -> tuple[Run, str]:
    """Read the file back, and name what runs it."""
    with contextlib.redirect_stdout(io.StringIO()):
        network = torch.export.load(path).module()
    outputs = torch.nn.Module.__call__

    def run(pictures: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            found = outputs(network, pictures)
        return [found] if isinstance(found, torch.Tensor) else list(found)

    return run, f"torch.export, torch {torch.__version__}"
