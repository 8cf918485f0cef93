"""One graph for all sizes, whatever the network's options, and a network that stays as it was."""

import pytest
import torch
from random_weights import worst_difference
from torch import nn
from torch.fx.experimental import _config

from swin_mm.export import ExportError, Segmentor
from swin_mm.export.description import Pixels
from swin_mm.export.pooling import AveragingPool
from swin_mm.export.tracing import exportable, trace
from swin_mm.ops.attention import preferred_attention

SIZES = [(1, 1, 1), (3, 28, 28), (2, 61, 75), (1, 112, 56), (1, 4, 130)]


def trace_at(network, *, write_out=True):
    return trace(network, torch.zeros(2, 3, 83, 95), write_out=write_out)


def nodes_of(program):
    graphs = [m.graph for m in program.graph_module.modules() if hasattr(m, "graph")]
    return [node for graph in graphs for node in graph.nodes]


def assert_same(network, program, sizes=SIZES):
    run = program.module()
    for batch, *size in sizes:
        x = torch.randn(batch, 3, *size)
        with torch.no_grad():
            ours, theirs = run(x), network(x)
        pairs = zip(*([[m] if torch.is_tensor(m) else m for m in (ours, theirs)]), strict=True)
        assert max(worst_difference(a, b) for a, b in pairs) <= 1e-5, (batch, *size)


@pytest.mark.parametrize(
    ("version", "depths", "options"),
    [
        (1, (2,), {"small_maps": "still"}),
        (2, (2, 1), {"small_maps": "still", "mask_padding": True, "window_size": (7, 4)}),
        (1, (1,), {"use_abs_pos_embed": True, "pretrain_img_size": (112, 56)}),
        (1, (1, 1), {"strides": (4, 1), "channels_last": True, "patch_size": 4}),
        (1, (1,), {"compile": True, "with_cp": True}),
    ],
    ids=["still", "v2, all", "absolute positions", "overlap", "compiled"],
)
def test_any_option_is_traced_for_any_size(build, version, depths, options):
    network = build(version, depths=depths, **options)
    program = trace_at(network)
    network.compiled = None
    assert_same(network, program)


def test_attention_is_torchs_own_operator_unless_it_is_to_be_written_out(build):
    network = build(depths=(1,))
    for write_out in (True, False):
        program = trace_at(network, write_out=write_out)
        operators = [str(node.target) for node in nodes_of(program)]
        assert any("scaled_dot_product" in name for name in operators) is not write_out
        assert not any("stack_trace" in node.meta for node in nodes_of(program))
        assert_same(network, program, SIZES[:2])


def test_a_segmentor_on_a_pyramid_is_traced_for_any_size(segmentor):
    network = Segmentor(segmentor("FPNHead"), Pixels("RGB", (0.0,), (1.0,))).eval()
    assert_same(network, trace_at(network))


def test_a_segmentor_is_traced_for_any_size_and_nothing_stays_behind(segmentor):
    network = Segmentor(segmentor(), Pixels("RGB", (0.0,), (1.0,))).eval()
    x = torch.randn(1, 3, 50, 71)
    with torch.no_grad():
        before = network(x)
        modules, oblivious = str(network), _config.backed_size_oblivious
        program = trace_at(network, write_out=False)
        assert torch.equal(network(x), before)  # eager, with no tensor of the tracer's
        network(torch.randn(2, 3, 83, 95))  # at the size of the trace, too
    assert str(network) == modules
    assert _config.backed_size_oblivious == oblivious
    assert preferred_attention() is None
    assert_same(network, program)


def test_a_copy_to_trace_shares_its_tensors(segmentor):
    network = segmentor()
    twin = exportable(network)
    assert [p.data_ptr() for p in twin.parameters()] == [p.data_ptr() for p in network.parameters()]
    kinds = {type(module) for module in twin.modules()}
    assert AveragingPool in kinds and nn.AdaptiveAvgPool2d not in kinds


class Undecided(nn.Module):
    """Branches on a number that only pictures tell."""

    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


def test_what_cannot_be_followed_is_said_in_a_line():
    with pytest.raises(ExportError, match=r"cannot follow Undecided: .+") as told:
        trace_at(Undecided())
    assert "\n" not in str(told.value)


def test_a_torch_without_the_switch_is_told(build, monkeypatch):
    monkeypatch.setattr(torch.export, "export", lambda network, args: None)
    with pytest.raises(ExportError, match=rf"{torch.__version__.partition('+')[0]}.* lacks"):
        trace_at(build(depths=(1, 1)))
