"""What every test may rely on.

The same random numbers each time, no screen, a tiny offline world, real pictures if any.
"""

import gc
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
os.environ.setdefault("MPLBACKEND", "Agg")  # before anybody imports matplotlib
if "PYTEST_XDIST_WORKER" in os.environ:  # several processes: one thread each, before torch
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Leave the libraries out of every later collection of garbage: MMEngine asks for many."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Let a test draw the same numbers alone and among others."""
    import numpy as np
    import torch

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def kernels() -> None:
    """Compiled kernels; without them the test is skipped, and says why there are none."""
    from swin_mm.ops.kernels import why_not

    if why_not() is not None:
        pytest.skip(f"no compiled kernels: {why_not()}")


@pytest.fixture(params=["by kernels", "by operators"])
def worker(request: pytest.FixtureRequest) -> Iterator[str]:
    """Who computes blocks chunk by chunk, one after the other."""
    from swin_mm.ops.kernels import without_kernels

    if request.param == "by kernels":
        request.getfixturevalue("kernels")
        yield request.param
        return
    with without_kernels():
        yield request.param


@pytest.fixture
def half_products(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Say whether the processor has instructions for half precision, whatever this one has."""
    from swin_mm.ops import products

    return lambda has: monkeypatch.setattr(products, "has_half_products", lambda dtype: has)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets how many threads torch has, until the test is over."""
    import torch

    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder that SWIN_MM_REAL_DATA names: `coco` and `ade`, a few real photographs each."""
    named = os.environ.get("SWIN_MM_REAL_DATA")
    if not named:
        pytest.skip("SWIN_MM_REAL_DATA names no folder of real photographs")
    folder = Path(named)
    assert folder.is_dir(), f"SWIN_MM_REAL_DATA={named} is not a folder"
    return folder


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


@pytest.fixture
def own_mmengine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back what a run changes for the whole process: readers of checkpoints, the device.

    And do not format a run's config: that takes a second, and only its layout comes of it.
    """
    import mmengine.device.utils
    from mmengine.runner import CheckpointLoader
    from yapf.yapflib import yapf_api

    monkeypatch.setattr(yapf_api, "FormatCode", lambda text, style_config: (text, False))
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    monkeypatch.setattr(mmengine.device.utils, "DEVICE", mmengine.device.utils.DEVICE)


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
