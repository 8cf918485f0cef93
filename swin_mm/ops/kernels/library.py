"""Where the compiled kernels are, and why they may not be there.

``setup.py`` compiles them where a C++ compiler is found, for processors with AVX-512 and for those
with AVX2. Without them everything runs on torch's own operators, slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.machinery
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from swin_mm.ops.kernels import structures

VERSION = 1
"""Of what the library's functions take; :file:`kernels.h` has the same."""

OFF = "SWIN_MM_KERNELS"
"""Environment variable that turns the kernels off where it is ``0``."""

_LEVELS = {"AVX512": ("avx512", "avx2"), "AVX2": ("avx2",)}
_turned_off = 0


@contextlib.contextmanager
def without_kernels() -> Iterator[None]:
    """Compute with torch's own operators, to compare or to try; it holds for the whole process."""
    global _turned_off
    _turned_off += 1
    try:
        yield
    finally:
        _turned_off -= 1


def library() -> ctypes.CDLL | None:
    """Return the kernels, or ``None``; :func:`why_not` says why."""
    return None if _turned_off else _load()[0]


def loaded() -> ctypes.CDLL:
    """Return the kernels, turned off or not: a backward pass ends as its forward pass began."""
    return _load()[0]


def why_not() -> str | None:
    """Say why the kernels are not used, ``None`` where they are."""
    return "turned off by without_kernels()" if _turned_off else _load()[1]


@functools.cache
def _load() -> tuple[ctypes.CDLL | None, str | None]:
    if os.environ.get(OFF) == "0":
        return None, f"turned off by {OFF}=0"
    capability = torch.backends.cpu.get_cpu_capability()
    levels = _LEVELS.get(capability)
    if levels is None:
        return None, f"they are for processors with AVX2 or AVX-512, and torch finds {capability}"
    for level in levels:
        file = _file(level)
        if file is not None:
            return _open(file)
    return None, "they were not compiled; install again where a C++ compiler (g++) is found"


def _file(level: str) -> Path | None:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        file = Path(__file__).with_name(f"_{level}{suffix}")
        if file.is_file():
            return file
    return None


def _open(file: Path) -> tuple[ctypes.CDLL | None, str | None]:
    """Open a library, whose threads are those of torch's own OpenMP, which it finds loaded."""
    try:
        found = ctypes.CDLL(str(file))
        version = found.swin_mm_version()
    except (OSError, AttributeError) as error:
        return None, f"{file.name} cannot be loaded: {error}"
    if version != VERSION:
        return None, f"{file.name} is of another version; install swin_mm again"
    structures.declare(found)
    return found, None
