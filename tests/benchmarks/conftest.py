"""The bench's modules, which are no part of the package, and a cell of theirs."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from bench.cells import Cell


@pytest.fixture
def cell() -> Cell:
    return Cell("inference", "fp32", "tiny", "64x96 b2", "mmdet")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Swin-T be a network of 8 channels and one block a stage."""
    import swin_mm
    from swin_mm.backbones.variants import Variant

    monkeypatch.setitem(swin_mm.VARIANTS, "tiny", Variant(8, (1, 1, 2, 1), (1, 1, 2, 2)))
