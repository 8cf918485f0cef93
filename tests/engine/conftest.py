"""Fresh configs for each test."""

from pathlib import Path

import pytest
from mmengine.config import Config

from swin_mm.engine.notes import Notes


@pytest.fixture
def detector(root: Path) -> Config:
    """Mask R-CNN, 3x."""
    return Config.fromfile(root / "configs/mask_rcnn_swin_t.py")


@pytest.fixture
def segmentor(root: Path) -> Config:
    """UPerNet."""
    return Config.fromfile(root / "configs/upernet_swin_t.py")


@pytest.fixture
def notes() -> Notes:
    """Lines that are kept and printed."""
    return Notes()
