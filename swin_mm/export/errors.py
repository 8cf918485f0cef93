"""What can go wrong with an export."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swin_mm.export.compare import Comparison


class ExportError(Exception):
    """The network cannot be exported; the message says why and what would work."""


class MismatchError(ExportError):
    """The exported network does not compute what the network does.

    Attributes:
        comparison: how far off it is, size by size.
    """

    def __init__(self, message: str, comparison: Comparison) -> None:
        super().__init__(message)
        self.comparison = comparison


def require(name: str, *, extra: str) -> ModuleType:
    """Import an optional package.

    Args:
        name: of the package.
        extra: of ours that brings it.

    Raises:
        ExportError: if it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExportError(
            f"this export needs {name}, which does not import ({error}): "
            f'pip install "swin_mm[{extra}]"'
        ) from error
