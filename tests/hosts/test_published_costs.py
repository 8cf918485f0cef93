"""Whole networks of the shipped configs cost what the papers say."""

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import MODELS, DefaultScope
from mmengine.structures import InstanceData
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from swin_mm import count_flops


def build(path):
    cfg = Config.fromfile(path)
    cfg.model.backbone.init_cfg = None
    scope = cfg.default_scope
    pytest.importorskip(scope)
    with DefaultScope.overwrite_default_scope(scope):
        __import__(f"{scope}.models")
        return MODELS.build({**cfg.model, "_scope_": scope})


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_mask_rcnn_takes_267_gflops_at_800_x_1280_px_and_48_m_parameters(root):
    model = build(root / "configs/mask_rcnn_swin_t.py").eval()
    assert parameters(model) / 1e6 == pytest.approx(47.8, rel=0.002)
    sample = pytest.importorskip("mmdet.structures").DetDataSample(
        metainfo={"img_shape": (800, 1280), "ori_shape": (800, 1280), "scale_factor": (1.0, 1.0)}
    )
    sample.gt_instances = InstanceData()
    counter = FlopCounterMode(display=False)
    with counter:  # with gradients: attention is written out, and counted
        model(torch.randn(1, 3, 800, 1280), [sample], mode="tensor")
    assert counter.get_total_flops() / 2e9 == pytest.approx(267, rel=0.01)


class Served(nn.Module):
    """A segmentor without its auxiliary head, as it serves."""

    def __init__(self, model):
        super().__init__()
        self.backbone, self.decode_head = model.backbone, model.decode_head

    def forward(self, x):
        """Class scores."""
        return self.decode_head(self.backbone(x))


def test_upernet_takes_945_gflops_at_512_x_2048_px_and_60_m_parameters(root):
    model = build(root / "configs/upernet_swin_t.py")
    assert parameters(model) / 1e6 == pytest.approx(59.9, rel=0.002)
    counted = count_flops(Served(model), (1, 3, 512, 2048))[""]
    assert counted / 1e9 == pytest.approx(945, rel=0.01)
