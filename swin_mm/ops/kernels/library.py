"""Where the compiled kernels are, and why they may not be there.

:file:`setup.py` compiles them where g++ is found, for processors with AVX-512 and for those with
AVX2, as :file:`recipe.py` says. Without them everything runs on torch's own operators, slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path

import torch

from swin_mm.ops.kernels import structures
from swin_mm.ops.kernels.recipe import OFF, PLATFORM, library_name, others

_LEVELS = {"AVX512": ("avx512", "avx2"), "AVX2": ("avx2",)}
_AGAIN = "install swin_mm again where g++ is found, as it was installed before"
_turned_off = 0
_counting = threading.Lock()


@contextlib.contextmanager
def without_kernels() -> Iterator[None]:
    """Compute with torch's own operators, to compare or to try; it holds for the whole process."""
    global _turned_off
    with _counting:  # adding to a number is not one step between threads
        _turned_off += 1
    try:
        yield
    finally:
        with _counting:
            _turned_off -= 1


def library() -> ctypes.CDLL | None:
    """Return the kernels, or ``None`` where there are none.

    Also where they are turned off: what they began, a backward pass say, is ended by them.
    :func:`why_not` says whether to begin.
    """
    return _load()[0]


def level() -> str | None:
    """Say which kernels are used, ``avx512`` or ``avx2``; ``None`` where none are."""
    found = library() if why_not() is None else None
    return None if found is None else Path(found._name).name.split("_")[1]


def why_not() -> str | None:
    """Say why the kernels are not used, ``None`` where they are."""
    return "turned off by without_kernels()" if _turned_off else _load()[1]


def are_loaded() -> bool:
    """Say whether they are used, to tracers, which cannot follow how they are looked for."""
    return not _turned_off and _LOADED


@functools.cache
def _load() -> tuple[ctypes.CDLL | None, str | None]:
    if os.environ.get(OFF) == "0":
        return None, f"turned off by {OFF}=0"
    if sysconfig.get_platform() != PLATFORM:
        return None, f"they are for {PLATFORM}, this is {sysconfig.get_platform()}"
    capability = torch.backends.cpu.get_cpu_capability()
    levels = _LEVELS.get(capability)
    if levels is None:
        return None, f"they are for processors with AVX2 or AVX-512, and torch finds {capability}"
    for one in levels:
        file = _file(one)
        if file is not None:
            return _open(file)
    stale = others(Path(__file__).parent)
    return None, f"they were {'compiled from other sources' if stale else 'not compiled'}; {_AGAIN}"


def _file(level: str) -> Path | None:
    file = Path(__file__).with_name(f"{library_name(level)}.so")
    return file if file.is_file() else None


def _open(file: Path) -> tuple[ctypes.CDLL | None, str | None]:
    """Open a library, whose threads are those of torch's own OpenMP, which it finds loaded."""
    try:
        found = ctypes.CDLL(str(file))
        structures.declare(found)
    except (OSError, AttributeError) as error:
        return None, f"{file.name} cannot be loaded: {error}; {_AGAIN}"
    return found, None


_LOADED = _load()[0] is not None
