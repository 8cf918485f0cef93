import pytest

from swin_mm.doctor import machine
from swin_mm.doctor.machine import GIB, look

CPU = "processor : 0\nmodel name\t: A Processor\nflags\t\t: fpu {}\n"
FREE = "MemTotal: 9000000 kB\nMemAvailable:    4194304 kB\n"


@pytest.fixture
def files(monkeypatch):
    """Let the kernel say what a test wants."""
    told = {"/proc/cpuinfo": CPU.format("avx2"), "/proc/meminfo": FREE}
    monkeypatch.setattr(machine, "_read", lambda path: told.get(path, ""))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    return told


def test_this_machine_can_be_looked_at():
    seen = look()
    assert seen.cores >= 1 and seen.disk > 0 and seen.python and seen.system


@pytest.mark.parametrize(
    ("flags", "fast"),
    [("avx2", ""), ("avx512f avx512_bf16", "AVX512-BF16"), ("avx512_bf16 amx_bf16", "AMX")],
)
def test_what_computes_bfloat16_is_read_from_the_flags(files, flags, fast):
    files["/proc/cpuinfo"] = CPU.format(flags)
    assert (look().bfloat16, look().processor) == (fast, "A Processor")


def test_a_container_s_limits_count(files):
    assert (look().cores, look().memory) == (16, 4 * GIB)
    files["/sys/fs/cgroup/cpu.max"] = "250000 100000\n"
    files["/sys/fs/cgroup/memory.max"] = f"{3 * GIB}\n"
    files["/sys/fs/cgroup/memory.current"] = f"{2 * GIB}\n"
    assert (look().cores, look().memory) == (2, GIB)


def test_a_container_without_limits_changes_nothing(files):
    files["/sys/fs/cgroup/cpu.max"] = "max 100000\n"
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    files["/sys/fs/cgroup/memory.current"] = "5\n"
    assert (look().cores, look().memory) == (16, 4 * GIB)


def test_the_compiler_is_the_one_that_torch_would_call(monkeypatch, tmp_path):
    mine = tmp_path / "my-c++"
    mine.write_text("#!/bin/sh\n")
    mine.chmod(0o755)
    monkeypatch.setenv("CXX", str(mine))
    assert look().compiler == str(mine)
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look().compiler == ""
