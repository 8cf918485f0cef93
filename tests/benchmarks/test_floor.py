import pytest
import torch
from bench.floor import products
from bench.networks import build_mmdet, build_ours
from torch import nn

pytestmark = pytest.mark.usefixtures("narrow")


def multiplied(call, monkeypatch):
    """Sizes and types of all inputs of linear layers in a call."""
    met = []
    linear = nn.functional.linear
    with monkeypatch.context() as patch:
        note = lambda x, *rest: met.append((x.numel(), x.dtype)) or linear(x, *rest)  # noqa: E731
        patch.setattr(nn.functional, "linear", note)
        call()
    return met


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_floor_multiplies_what_mmdetections_does_in_the_precision_compared(monkeypatch, dtype):
    net = build_ours("tiny").eval()
    theirs = build_mmdet("tiny", net.state_dict())
    theirs.train(False)
    x = torch.randn(2, 3, 64, 96)
    floor = multiplied(products(net, x.to(dtype)), monkeypatch)
    with torch.no_grad():
        wanted = multiplied(lambda: theirs(x), monkeypatch)
    assert floor == [(size, dtype) for size, _ in wanted]
    assert len(floor) == 5 * 4 + 3  # four of every block, one of every merging


def test_the_floor_leaves_no_hooks_that_would_slow_the_network_down():
    net = build_ours("tiny").eval()
    products(net, torch.randn(1, 3, 64, 64))
    assert not any(module._forward_hooks for module in net.modules())
