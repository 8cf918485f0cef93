"""A tiny detector and a tiny segmentor of random weights, saved as MMEngine saves them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from mmengine.config import Config
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import MODELS
from mmengine.runner import save_checkpoint

from swin_mm.engine.channels import match_channels
from swin_mm.engine.config import import_host
from swin_mm.engine.notes import Notes
from swin_mm.inference import Predictor

CONFIGS = {"detection": "mask_rcnn_swin_t", "segmentation": "upernet_swin_t"}


class Trained(NamedTuple):
    """A config file, a checkpoint, and the options that shrink the one to the other."""

    config: Path
    checkpoint: Path
    options: Mapping[str, Any]

    def cfg(self) -> Config:
        cfg = Config.fromfile(self.config)
        cfg.merge_from_dict(dict(self.options))
        import_host(cfg)
        match_channels(cfg, self.options, Notes(False))
        return cfg

    def predictor(self) -> Predictor:
        return Predictor.load(self.cfg(), str(self.checkpoint), device="cpu")


def train(task: str, root: Path, folder: Path, shrink: Mapping[str, Any]) -> Trained:
    """Draw a model's weights and save them with the names of no class in particular."""
    if task == "detection":
        extra = {"model.test_cfg.rcnn.score_thr": 0.0, "model.test_cfg.rcnn.max_per_img": 4}
    else:
        extra = {"model.backbone.init_cfg": None}
    extra["test_dataloader.dataset.pipeline.1.scale"] = (96, 72)
    config = root / f"configs/{CONFIGS[task]}.py"
    trained = Trained(config, folder / f"{task}.pth", {**shrink[task], **extra})
    torch.manual_seed(0)
    model = revert_sync_batchnorm(MODELS.build(trained.cfg().model))
    save_checkpoint({"meta": {}, "state_dict": model.state_dict()}, str(trained.checkpoint))
    return trained


@pytest.fixture(scope="session")
def detector(root: Path, tmp_path_factory: pytest.TempPathFactory, shrink: dict) -> Trained:
    return train("detection", root, tmp_path_factory.mktemp("a detector"), shrink)


@pytest.fixture(scope="session")
def segmentor(root: Path, tmp_path_factory: pytest.TempPathFactory, shrink: dict) -> Trained:
    return train("segmentation", root, tmp_path_factory.mktemp("a segmentor"), shrink)
