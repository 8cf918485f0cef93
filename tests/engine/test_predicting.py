"""A config on its way to predictions."""

from pathlib import Path

import pytest
import torch
from mmengine.runner import CheckpointLoader

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine.errors import UsageError
from swin_mm.engine.predicting import configure

CONFIG = "configs/upernet_swin_t.py"


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


def test_options_are_set_and_the_device_is_named(root: Path, own_mmengine: None) -> None:
    options = {"model.backbone.embed_dims": 8, "model.backbone.num_heads": [1, 1, 2, 2]}
    cfg, device = configure(str(root / CONFIG), options, device="cpu")
    assert device == "cpu"
    assert cfg.model.backbone.embed_dims == 8
    assert cfg.model.decode_head.in_channels == [8, 16, 32, 64]


def test_a_device_that_is_not_there_is_an_error(root: Path, own_mmengine: None) -> None:
    with pytest.raises(UsageError, match="--device gpu cannot be used here"):
        configure(str(root / CONFIG), {}, device="gpu")


@pytest.mark.parametrize("unsafe", [False, True])
def test_whatever_is_read_from_then_on_is_read_as_asked(
    root: Path, own_mmengine: None, tmp_path: Path, unsafe: bool
) -> None:
    torch.save({"a": torch.ones(1), "x": Hostile(tmp_path / "ran")}, tmp_path / "evil.pth")
    configure(str(root / CONFIG), {}, device="cpu", unsafe=unsafe)
    if unsafe:
        CheckpointLoader.load_checkpoint(str(tmp_path / "evil.pth"))
    else:
        with pytest.raises(CheckpointError, match="Nothing was run"):
            CheckpointLoader.load_checkpoint(str(tmp_path / "evil.pth"))
    assert (tmp_path / "ran").exists() == unsafe
