import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from bench.memory import peak, resident_peak


def test_a_figure_is_of_a_process_of_its_own(cell, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    held = torch.ones(300, 2**18)  # 300 MB that are not the network's
    found = peak("swin_mm", replace(cell, case="64x64 b1"), threads=1)
    assert 1 <= found < 100
    del held


def test_a_process_that_fails_is_told_with_its_last_words(cell, monkeypatch, tmp_path):
    fails = tmp_path / "python"
    fails.write_text("#!/bin/sh\necho no luck >&2\nexit 1\n")
    fails.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fails))
    with pytest.raises(RuntimeError, match=r"memory of swin_mm \(inference, .*no luck"):
        peak("swin_mm", cell)


def test_the_peak_is_seen_after_memory_was_given_back():
    Path("/proc/self/clear_refs").write_text("5")
    before = resident_peak()
    torch.ones(256, 2**18)  # 256 MB; some of what was resident may be given back meanwhile
    assert resident_peak() - before > 200 * 2**20
