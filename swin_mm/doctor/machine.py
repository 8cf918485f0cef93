"""What the machine has: processor, memory, disk, shared memory, compiler."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

GIB = 2**30


@dataclass(frozen=True)
class Machine:
    """This machine, as far as this process may use it.

    Attributes:
        python: its version and path.
        system: kernel, processor and C library.
        processor: the processor's own name.
        cores: what this process may use, containers' limits counted.
        memory: bytes free, containers' limits counted; None if unknown.
        shared_memory: bytes free in `/dev/shm`; None if there is none.
        disk: bytes free in the working folder.
        bfloat16: what computes it fast: `AMX`, `AVX512-BF16`, or nothing.
        compiler: the C++ compiler that torch would call; empty if there is none.
    """

    python: str
    system: str
    processor: str
    cores: int
    memory: int | None
    shared_memory: int | None
    disk: int
    bfloat16: str
    compiler: str


def look() -> Machine:
    """Look at this machine."""
    info = _read("/proc/cpuinfo")
    flags = set(_field(info, "flags").split())
    fast = "AMX" if "amx_bf16" in flags else "AVX512-BF16" if "avx512_bf16" in flags else ""
    return Machine(
        python=f"{platform.python_version()}, {sys.executable}",
        system=f"{platform.system()} {platform.machine()}, {' '.join(platform.libc_ver())}".strip(),
        processor=_field(info, "model name") or platform.processor() or "unknown",
        cores=_cores(),
        memory=_memory(),
        shared_memory=_free("/dev/shm"),
        disk=shutil.disk_usage(".").free,
        bfloat16=fast,
        compiler=shutil.which(os.environ.get("CXX") or "g++") or shutil.which("clang++") or "",
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _field(text: str, name: str) -> str:
    """The first `name : value` of a file in /proc."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def _free(folder: str) -> int | None:
    return shutil.disk_usage(folder).free if os.path.isdir(folder) else None


def _cores() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").strip().partition(" ")
    if quota.isdigit() and period.isdigit():
        return max(1, min(allowed or 1, round(int(quota) / int(period))))
    return allowed or 1


def _memory() -> int | None:
    free = _field(_read("/proc/meminfo"), "MemAvailable").split()
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    used = _read("/sys/fs/cgroup/memory.current").strip()
    known = [int(free[0]) * 1024] if free else []
    if limit.isdigit() and used.isdigit():
        known.append(int(limit) - int(used))
    return min(known, default=None)
