import os

import pytest
import torch
from torch import nn

from swin_mm.checkpoints import CheckpointError
from swin_mm.inference import load_model


def saved(state_dict, tmp_path):
    path = tmp_path / "other.pth"
    torch.save({"state_dict": state_dict, "meta": {"epoch": 3}}, path)
    return str(path)


@pytest.fixture(scope="module")
def weights(segmentor):
    return torch.load(segmentor.checkpoint)["state_dict"]


def test_a_model_is_filled_and_ready_to_predict(segmentor, weights):
    model, _ = load_model(segmentor.cfg(), str(segmentor.checkpoint), device="cpu")
    loaded = model.state_dict()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in weights.items())
    assert not model.training
    assert not any(isinstance(module, nn.SyncBatchNorm) for module in model.modules())


def test_names_of_a_parallel_wrapper_are_understood(segmentor, weights, tmp_path):
    path = saved({f"module.{name}": tensor for name, tensor in weights.items()}, tmp_path)
    _, meta = load_model(segmentor.cfg(), path, device="cpu")
    assert meta["epoch"] == 3


def test_a_checkpoint_that_lacks_a_part_is_refused(segmentor, weights, tmp_path):
    rest = {name: tensor for name, tensor in weights.items() if "conv_seg.bias" not in name}
    with pytest.raises(CheckpointError, match=r"does not fill .*\n.*no decode_head.conv_seg.bias"):
        load_model(segmentor.cfg(), saved(rest, tmp_path), device="cpu")


def test_a_checkpoint_of_another_width_is_refused(segmentor, weights, tmp_path):
    wide = {**weights, "decode_head.conv_seg.bias": torch.zeros(151)}
    with pytest.raises(CheckpointError, match=r"does not fill[^$]*decode_head.conv_seg.bias"):
        load_model(segmentor.cfg(), saved(wide, tmp_path), device="cpu")


def test_a_backbone_of_another_width_is_refused_with_the_same_advice(segmentor, weights, tmp_path):
    name = "backbone.patch_embed.projection.weight"
    narrow = {**weights, name: weights[name][:4]}
    with pytest.raises(CheckpointError, match=r"does not fill[^$]*\nUse the config that it was"):
        load_model(segmentor.cfg(), saved(narrow, tmp_path), device="cpu")


class Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_hostile_checkpoint_runs_nothing(segmentor, tmp_path):
    path = tmp_path / "hostile.pth"
    torch.save({"state_dict": {}, "meta": Hostile(str(tmp_path / "ran"))}, path)
    with pytest.raises(CheckpointError, match="Nothing was run"):
        load_model(segmentor.cfg(), str(path), device="cpu")
    assert not (tmp_path / "ran").exists()
