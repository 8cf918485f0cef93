"""Our kernels, on the card where there is one, else on the CPU by Triton's interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CASES = Path(__file__).with_name("triton_cases.py")


def test_the_kernels_equal_the_reference():
    pytest.importorskip("triton", reason="no Triton to interpret its kernels: pip install triton")
    own = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", CASES],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout


def test_no_module_of_ours_needs_triton_to_be_imported():
    code = "import sys; sys.modules['triton'] = None; import swin_mm.ops.attention.triton_backend"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=CASES.parents[3], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
