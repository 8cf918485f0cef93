import pytest
import torch

from swin_mm.ops.memory_format import channels_first


@pytest.mark.parametrize("shape", [(0, 3, 5, 7), (1, 1, 1, 1), (2, 3, 5, 7), (3, 80, 90, 70)])
def test_maps_come_out_contiguous_with_channels_first(shape):
    x = torch.randn(shape)
    out = channels_first(x)
    assert out.is_contiguous()
    assert torch.equal(out, x.permute(0, 3, 1, 2))


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "expanded"])
def test_gradients_come_back_whatever_their_layout(layout):
    x = torch.randn(2, 3, 5, 7, requires_grad=True)
    above = torch.randn(2, 7, 3, 5)
    if layout == "channels last":
        above = above.to(memory_format=torch.channels_last)
    if layout == "expanded":
        above = torch.randn(2, 7, 1, 1).expand(2, 7, 3, 5)
    channels_first(x).backward(above)
    assert torch.equal(x.grad, above.permute(0, 2, 3, 1))


def test_it_may_be_differentiated_again():
    x = torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: channels_first(x) ** 3, x)


def test_it_maps_over_batches():
    x = torch.randn(4, 1, 2, 3, 5)
    assert torch.equal(torch.func.vmap(channels_first)(x), x.permute(0, 1, 4, 2, 3))
