"""What several rooms' tests share: a tiny offline world, and overrides that shrink the configs."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def tiny_scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pictures to learn from and two held out, 96x72 px, in a folder with a space."""
    from swin_mm.data import write_scenes  # here: all tests load this file

    folder = tmp_path_factory.mktemp("tiny scenes")
    write_scenes(folder, train=6, val=2, seed=3, size=(96, 72), jobs=1, force=True)
    return folder


@pytest.fixture(scope="session")
def shrink() -> dict[str, dict]:
    """`--cfg-options` that make a detector or a segmentor run in a second, by task."""
    backbone = {
        "model.backbone.embed_dims": 8,
        "model.backbone.depths": [1, 1, 2, 1],
        "model.backbone.num_heads": [1, 1, 2, 2],
    }
    workers = {"train_dataloader.num_workers": 0, "val_dataloader.num_workers": 0}
    workers |= {"test_dataloader.num_workers": 0}
    detector = {
        "model.neck.out_channels": 8,
        "model.rpn_head.feat_channels": 8,
        "model.roi_head.bbox_head.fc_out_channels": 8,
        "model.roi_head.mask_head.conv_out_channels": 8,
        "model.train_cfg.rpn_proposal.max_per_img": 20,
        "model.train_cfg.rcnn.sampler.num": 16,
        "model.test_cfg.rpn.max_per_img": 10,
    }
    segmentor = {"model.decode_head.channels": 8, "model.auxiliary_head.channels": 8}
    return {
        "detection": backbone | workers | detector,
        "segmentation": backbone | workers | segmentor,
    }
