import itertools

import profile_backbone
import pytest
import torch
from bench.networks import Entrant, build_ours

from swin_mm.ops.kernels import library, without_kernels
from swin_mm.ops.kernels.structures import NOTHING

pytestmark = pytest.mark.usefixtures("narrow")


@pytest.fixture
def shown(kernels):
    """Kernels that the profiler sees, until the test is over."""
    before = dict(vars(library()))
    profile_backbone.show_kernels()
    yield
    vars(library()).update(before)


def spent(trains):
    net = build_ours("tiny").train(trains)
    entrant, x = Entrant(net, net), torch.randn(1, 3, 64, 96)
    return profile_backbone.profiled(entrant, x, trains=trains, precision="fp32")


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("trains", [False, True])
def test_the_compiled_kernels_have_their_share(trains):
    """A ctypes call is no operator: unseen, its time would be nobody's."""
    compiled = [kind for kind in profile_backbone.KINDS if kind.endswith("compiled")]
    found = spent(trains)
    assert all(found[kind] > 0 for kind in compiled)
    with without_kernels():
        found = spent(trains)
    assert not any(found[kind] for kind in compiled)


def test_every_kernel_is_of_a_kind():
    named = {name for name in itertools.chain(*profile_backbone.KINDS.values())}
    assert {f"swin_mm_{name}" for name in NOTHING} == {n for n in named if n.startswith("swin_mm_")}


def test_no_operation_is_of_two_kinds():
    names = list(itertools.chain(*profile_backbone.KINDS.values()))
    assert len(names) == len(set(names))
