"""DINO's layer over encoded boxes, from the width of one release of MMDetection to the other's."""

import pytest
import torch
from torch import nn

from swin_mm.engine.box_encoding import LAYER, widen_box_encoding
from swin_mm.engine.whole_models import fit_to_model


def detector(columns: int, rows: int = 6) -> nn.Module:
    """A model whose one parameter has the layer's name and shape."""
    model = nn.Module()
    model.decoder = nn.Module()
    model.decoder.ref_point_head = nn.Module()
    model.decoder.ref_point_head.layers = nn.ModuleList([nn.Linear(columns, rows, bias=False)])
    return model


def test_the_wider_layer_computes_what_the_narrow_one_does():
    utils = pytest.importorskip("mmdet.models.layers.transformer.utils")
    boxes = torch.rand(2, 5, 4)
    narrow, wide = (utils.coordinate_to_encoding(boxes, num_feats=number) for number in (128, 256))
    weight = torch.randn(6, 512)
    tensors = {LAYER: weight}
    widen_box_encoding(tensors, detector(1024))
    assert tensors[LAYER].shape == (6, 1024) and tensors[LAYER].dtype == weight.dtype
    torch.testing.assert_close(wide @ tensors[LAYER].T, narrow @ weight.T, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("columns", [512, 513, 2048])
def test_any_other_width_is_left_to_those_who_load_it(columns):
    tensors = {LAYER: torch.randn(6, 512)}
    before = dict(tensors)
    widen_box_encoding(tensors, detector(columns))
    widen_box_encoding(tensors, detector(1024, rows=7))
    widen_box_encoding(tensors, nn.Linear(1, 1))
    assert tensors[LAYER] is before[LAYER]


def test_a_checkpoint_is_brought_to_it_on_its_way_to_the_model():
    model, checkpoint = detector(64), {"state_dict": {LAYER: torch.randn(6, 32)}}
    assert fit_to_model(checkpoint, model) == ()
    model.load_state_dict(checkpoint["state_dict"])
    assert model.decoder.ref_point_head.layers[0].weight[:, ::4].any()
