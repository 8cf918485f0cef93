"""How the kernels are compiled, and what a library of the sources beside this file is called.

:file:`setup.py` runs this file by its path, and :file:`tools/setup_env.sh` as a program that prints
the libraries that are missing: it imports the standard library alone.
"""

from __future__ import annotations

import os
import sysconfig
import zlib
from pathlib import Path

FOLDER = Path(__file__).parent

PLATFORM = "linux-x86_64"

OFF = "SWIN_MM_KERNELS"
"""Environment variable: where it is ``0`` kernels are neither compiled nor used."""

FLAGS = (
    "-std=c++17", "-O3", "-g0", "-mprefer-vector-width=512", "-fopenmp", "-ffp-contract=fast",
    "-fno-math-errno", "-fno-trapping-math", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra",
    "-Wfatal-errors",
)  # fmt: skip

_AVX2 = ("-march=x86-64", "-mavx2", "-mfma")
LEVELS = {
    "avx512": (*_AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
    "avx2": _AVX2,
}
"""By kind of processor, the instructions that torch looks for before it says that it has one."""


def libraries() -> dict[str, str]:
    """Name the library for each kind of processor; there are none elsewhere than on PLATFORM."""
    if sysconfig.get_platform() != PLATFORM or os.environ.get(OFF) == "0":
        return {}
    return {level: library_name(level) for level in LEVELS}


def library_name(level: str) -> str:
    """Name a library after its sources: one of others is not found, so it is not used either."""
    return f"_{level}_{checksum()}"


def checksum() -> str:
    """Return eight digits for the sources and the flags."""
    total = zlib.crc32(repr((FLAGS, LEVELS)).encode())
    for file in (*sorted(FOLDER.glob("*.h")), *sorted(FOLDER.glob("*.cpp"))):
        total = zlib.crc32(file.read_bytes(), total)
    return f"{total:08x}"


def others(folder: Path) -> list[Path]:
    """Find libraries of other sources than those beside this file."""
    own = {library_name(level) for level in LEVELS}
    return sorted(file for file in folder.glob("_avx*.so") if file.stem not in own)


if __name__ == "__main__":
    names = [f"{name}.so" for name in libraries().values()]
    print(*(name for name in names if not (FOLDER / name).is_file()))
