import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

from swin_mm.ops.calls import is_plain_call


def test_a_tensor_outside_of_anything_is_plain():
    assert is_plain_call(torch.ones(2))


def test_a_default_device_changes_nothing():
    with torch.device("meta"):
        assert is_plain_call(torch.ones(2, device="cpu"))


def test_a_tensor_of_another_kind_is_not():
    class Other(torch.Tensor):
        pass

    assert not is_plain_call(torch.ones(2).as_subclass(Other))


def told_by(run):
    """What is said inside of something that calls a function of a tensor."""
    said = []
    run(lambda x: said.append(is_plain_call(x)) or x + 1)
    return said


@pytest.mark.parametrize(
    "run",
    [
        lambda f: torch.func.vmap(f)(torch.ones(2)),
        lambda f: torch.func.grad(lambda x: f(x).sum())(torch.ones(2)),
        lambda f: torch.func.jvp(f, (torch.ones(2),), (torch.ones(2),)),
        lambda f: make_fx(f)(torch.ones(2)),
        lambda f: torch.jit.trace(f, torch.ones(2), check_trace=False),
        lambda f: torch.export.export(Module(f), (torch.ones(2),), strict=False),
    ],
    ids=["vmap", "grad", "jvp", "make_fx", "jit", "export"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tracers_and_maps_are_not_plain(run):
    said = told_by(run)
    assert said and not any(said)


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_counters_of_operators_are_not_plain():
    with FlopCounterMode(display=False):
        assert not is_plain_call(torch.ones(2))
