import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from swin_mm.layers.plain import are_plain


def test_modules_of_the_tensors_dtype_are_plain():
    assert are_plain([nn.Linear(2, 2), nn.LayerNorm(2)], torch.ones(2))


def test_another_dtype_is_not_but_under_autocast():
    linear, x = nn.Linear(2, 2), torch.ones(2, dtype=torch.bfloat16)
    assert not are_plain([linear], x)
    with torch.autocast("cpu", torch.bfloat16):
        assert are_plain([linear], x)
        assert not are_plain([linear.bfloat16()], x)


@pytest.mark.parametrize(
    "watch",
    [
        lambda m: m.register_forward_hook(print),
        lambda m: m.register_forward_pre_hook(print),
        lambda m: m.register_full_backward_hook(print),
        lambda m: m.register_full_backward_pre_hook(print),
        lambda m: nn.modules.module.register_module_forward_hook(print),
    ],
)
def test_a_hook_on_one_or_on_all_is_seen(watch):
    linear = nn.Linear(2, 2)
    handle = watch(linear)
    assert not are_plain([linear], torch.ones(2))
    handle.remove()
    assert are_plain([linear], torch.ones(2))


def test_a_method_put_on_the_instance_is_seen():
    linear = nn.Linear(2, 2)
    linear.forward = lambda x: x
    assert not are_plain([linear], torch.ones(2))


def test_a_parameter_of_another_kind_is_seen():
    class Sharded(nn.Parameter):
        pass

    linear = nn.Linear(2, 2)
    linear.weight = Sharded(torch.ones(2, 2))
    assert not are_plain([linear], torch.ones(2))


def test_parametrized_modules_change_their_class():
    """Whoever asks for exact classes sees them."""
    linear = nn.Linear(2, 2)
    parametrize.register_parametrization(linear, "weight", nn.Identity())
    assert type(linear) is not nn.Linear
