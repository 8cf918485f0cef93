import pytest
import torch
from bench.networks import (
    Entrant,
    build_mmdet,
    build_ours,
    draw_weights,
    normalised,
    step,
    worst_difference,
)
from torch import nn

pytestmark = pytest.mark.usefixtures("narrow")


def test_no_drawn_parameter_is_constant():
    net = draw_weights(build_ours("tiny"))
    assert min(float(parameter.detach().std()) for parameter in net.parameters()) > 0.02


def test_mmdetections_computes_the_same_with_the_same_weights():
    ours = draw_weights(build_ours("tiny")).eval()
    theirs = build_mmdet("tiny", ours.state_dict())
    theirs.train(False)
    x = torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        assert worst_difference(ours(x), theirs(x)) < 1e-5


def test_a_permuted_weight_is_seen():
    ours, other = (draw_weights(build_ours("tiny")).eval() for _ in range(2))
    weight = other.stages[1].downsample.reduction.weight
    weight.data = weight[:, torch.randperm(weight.shape[1])]
    x = torch.randn(1, 3, 64, 96)
    with torch.no_grad():
        assert worst_difference(ours(x), other(x)) > 0.1


def test_a_step_leaves_no_gradients_and_does_make_them():
    net = build_ours("tiny")
    seen = []
    net.norm0.weight.register_hook(seen.append)
    entrant = Entrant(net, net)
    step(entrant, torch.randn(1, 3, 64, 64), trains=True, precision="bf16 autocast")
    assert seen and all(parameter.grad is None for parameter in net.parameters())


def test_bare_maps_get_our_norms_and_the_network_keeps_its_precision():
    net = draw_weights(build_ours("tiny")).bfloat16()
    bare = torch.randn(2, 5, 6, 8)
    (found,) = normalised([bare], net)
    norm = nn.LayerNorm(8)
    norm.load_state_dict(net.norm0.state_dict())
    assert torch.allclose(found, norm(bare).permute(0, 3, 1, 2), atol=1e-6)
    assert net.norm0.weight.dtype == torch.bfloat16


def test_maps_of_other_shapes_are_not_compared():
    with pytest.raises(ValueError, match="same shapes"):
        worst_difference([torch.ones(1, 2)], [torch.ones(1, 1)])
