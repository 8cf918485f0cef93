import torch

from swin_mm.layers import DropPath


def test_whole_pictures_are_dropped_and_the_rest_scaled_up():
    torch.manual_seed(0)
    x = torch.ones(400, 2, 3)
    out = DropPath(0.25)(x)
    by_picture = out.flatten(1)
    assert (by_picture == by_picture[:, :1]).all()
    kept = by_picture[:, 0] > 0
    torch.testing.assert_close(by_picture[kept], torch.full_like(by_picture[kept], 4 / 3))
    assert 0.65 < kept.float().mean() < 0.85


def test_nothing_is_dropped_in_evaluation_or_at_rate_0():
    x = torch.ones(50, 2)
    assert DropPath(0.5).eval()(x) is x
    assert DropPath(0.0)(x) is x


def test_at_rate_1_nothing_is_left_and_nothing_is_infinite():
    assert torch.equal(DropPath(1.0)(torch.ones(4, 2)), torch.zeros(4, 2))


def test_a_small_rate_is_kept_in_bfloat16():
    torch.manual_seed(0)
    out = DropPath(0.002)(torch.ones(20000, 1, dtype=torch.bfloat16))
    dropped = (out == 0).float().mean().item()
    assert 0.001 < dropped < 0.004
