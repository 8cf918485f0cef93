"""Shifted window attention against its definition."""

import pytest
import torch
from brute_force import attend_token_by_token
from random_weights import randomise, worst_difference

from swin_mm.layers import ShiftedWindowAttention, WindowAttention
from swin_mm.ops.windows import WindowPlan

SIZES = [(1, 1), (2, 5), (3, 3), (4, 4), (5, 7), (8, 6)]
WINDOWS = [(2, 2), (3, 3), (4, 4), (2, 3), (4, 1)]


def build(window, *, shifted=True, mask_padding=False, small_maps="shift"):
    attention = WindowAttention(8, 2, window_size=window)
    module = ShiftedWindowAttention(
        attention, shifted=shifted, mask_padding=mask_padding, small_maps=small_maps
    )
    return randomise(module).eval()


@pytest.mark.parametrize("small_maps", ["shift", "still"])
@pytest.mark.parametrize("mask_padding", [False, True])
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
def test_every_token_finds_what_the_definition_says(window, shifted, mask_padding, small_maps):
    module = build(window, shifted=shifted, mask_padding=mask_padding, small_maps=small_maps)
    for size in SIZES:
        x = torch.randn(1, *size, 8)
        truth = attend_token_by_token(module, x)
        assert worst_difference(module(x).double(), truth) < 1e-5, size
        with torch.no_grad():  # the fused kernel
            assert worst_difference(module(x).double(), truth) < 1e-5, size
        # As compilers and exporters see it, in one piece.
        plan = WindowPlan.of(size, window, shifted=shifted, small_maps=small_maps)
        whole = module._attend_at_once(plan.lay_out(x), module.w_msa.bias(), plan)
        assert worst_difference(plan.take_back(whole).double(), truth) < 1e-5, size


def test_pictures_of_a_batch_do_not_meet():
    module = build((3, 3))
    x = torch.randn(3, 5, 7, 8)
    alone = torch.cat([module(picture[None]) for picture in x])
    assert worst_difference(module(x), alone) < 1e-6


def test_rolling_before_padding_would_be_seen(monkeypatch):
    def roll_then_pad(plan, x):
        x = x.roll((-plan.shift[0], -plan.shift[1]), dims=(1, 2))
        bottom, right = plan.padding
        return torch.nn.functional.pad(x, (0, 0, 0, right, 0, bottom))

    module, x = build((2, 2)), torch.randn(1, 3, 3, 8)
    truth = attend_token_by_token(module, x)
    assert worst_difference(module(x).double(), truth) < 1e-5
    monkeypatch.setattr(WindowPlan, "lay_out", roll_then_pad)
    assert worst_difference(module(x).double(), truth) > 1e-2


def test_a_region_of_padding_alone_stays_finite():
    module = build((4, 4), mask_padding=True)
    x = torch.randn(1, 1, 1, 8, requires_grad=True)  # 1 token of 16 is real
    module(x).sum().backward()
    gradients = [x.grad, *(parameter.grad for parameter in module.parameters())]
    assert all(gradient.isfinite().all() for gradient in gradients)
    with torch.no_grad():
        assert module(x).isfinite().all()
