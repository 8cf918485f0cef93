"""Tiny networks of a stage or two, and segmentors around them. Tracing takes a second a block."""

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import MODELS
from random_weights import randomise

from swin_mm import SwinTransformer, SwinTransformerV2

NETWORKS = {1: SwinTransformer, 2: SwinTransformerV2}
ONE = {"embed_dims": 8, "num_heads": (1,), "strides": (4,), "out_indices": (0,)}
TWO = {"embed_dims": 8, "num_heads": (1, 2), "strides": (4, 2), "out_indices": (0, 1)}
HEADS = {
    "UPerHead": {"in_channels": [8, 16], "in_index": [0, 1], "pool_scales": (1, 3)},
    "FPNHead": {"in_channels": [8, 8], "in_index": [0, 1], "feature_strides": [4, 8]},
}


@pytest.fixture(scope="session")
def build():
    """Build a backbone with weights that hide nothing."""

    def built(version=1, *, depths=(1, 1), **options):
        stages = ONE if len(depths) == 1 else TWO
        return randomise(NETWORKS[version](**{**stages, "depths": depths, **options})).eval()

    return built


@pytest.fixture(scope="session")
def segmentor_cfg():
    """A config of a segmentor, by the name of its head; of the second, with a neck."""

    def made(head="UPerHead"):
        norm = {"type": "BN"}
        model = {
            "type": "EncoderDecoder",
            "data_preprocessor": {
                "type": "SegDataPreProcessor",
                "mean": [120.0, 110.0, 100.0],
                "std": [50.0, 60.0, 70.0],
                "bgr_to_rgb": True,
            },
            "backbone": {"type": "swin_mm.SwinTransformer", "depths": (1, 1), **TWO},
            "decode_head": {
                "type": head,
                **HEADS[head],
                "channels": 4,
                "num_classes": 3,
                "norm_cfg": norm,
                "align_corners": False,
            },
            "test_cfg": {"mode": "whole"},
        }
        if head == "FPNHead":
            model["neck"] = {"type": "FPN", "in_channels": [8, 16], "out_channels": 8}
            model["neck"]["num_outs"] = 2
        return Config({"model": model, "default_scope": "mmseg"})

    return made


@pytest.fixture(scope="session")
def segmentor(segmentor_cfg):
    """Build a segmentor by the name of its head, with statistics that are not those of nothing."""

    def built(head="UPerHead"):
        import mmseg.models  # noqa: F401

        with MODELS.switch_scope_and_registry("mmseg"):
            model = MODELS.build(segmentor_cfg(head).model)
        randomise(model)
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
        return model.eval()

    return built
