import pytest
import torch
from mmengine.config import ConfigDict
from torch import nn

from swin_mm.backbones.factories import activation_factory, norm_factory


def test_a_norm_takes_its_options():
    norm = norm_factory(ConfigDict(type="LN", eps=0.5, elementwise_affine=False))(6)
    assert isinstance(norm, nn.LayerNorm)
    assert (norm.normalized_shape, norm.eps, norm.weight) == ((6,), 0.5, None)
    assert isinstance(norm_factory({"type": "RMSNorm"})(6), nn.RMSNorm)
    assert isinstance(norm_factory({"type": nn.LayerNorm})(6), nn.LayerNorm)


def test_a_norm_without_gradient_is_fixed():
    fixed = norm_factory({"type": "LN", "requires_grad": False})(6)
    assert not any(parameter.requires_grad for parameter in fixed.parameters())


@pytest.mark.parametrize("name", ["BN", "SyncBN", "GN", None, "ln"])
def test_norms_over_other_dimensions_are_refused(name):
    with pytest.raises(ValueError, match="a norm over the channels"):
        norm_factory({"type": name})


def test_an_activation_is_torchs_or_mmcvs_with_its_options():
    gelu = activation_factory({"type": "GELU", "approximate": "tanh"})()
    assert gelu.approximate == "tanh"
    pytest.importorskip("mmcv.cnn")
    swish = activation_factory({"type": "Swish"})()
    torch.testing.assert_close(swish(torch.ones(1)), torch.ones(1).sigmoid())


@pytest.mark.parametrize("name", ["functional", "GLEU", "ResNet", None])
def test_other_names_are_no_activation(name):
    with pytest.raises(ValueError, match=r"an activation of torch.nn or MMCV"):
        activation_factory({"type": name})
