import itertools

import pytest
import torch
from random_weights import randomise

from swin_mm import RelativePositionBias
from swin_mm.layers import ContinuousPositionBias
from swin_mm.ops import log_spaced_offsets


def test_the_bias_plugged_into_scores_is_the_definition():
    bias = RelativePositionBias((2, 3), num_heads=4)
    scores = torch.randn(5, 4, 6, 6)
    added = bias(scores) - scores
    table = bias.relative_position_bias_table.view(3, 5, 4)
    for query, key in ((0, 0), (0, 5), (4, 2), (5, 1)):
        (i, j), (k, m) = divmod(query, 3), divmod(key, 3)
        expected = table[i - k + 1, j - m + 2].expand(5, 4)
        torch.testing.assert_close(added[:, :, query, key], expected)


def test_pairs_at_the_same_offset_share_a_bias():
    bias = RelativePositionBias((7, 7), num_heads=8).bias()
    assert torch.equal(bias[:, 0, 8], bias[:, 16, 24])  # one down, one across


def test_scores_keep_their_dtype():
    bias = RelativePositionBias((2, 2), num_heads=1)
    assert bias(torch.zeros(1, 1, 4, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_scores_of_another_window_are_refused_with_both_shapes():
    bias = RelativePositionBias((7, 7), num_heads=8)
    with pytest.raises(ValueError, match=r"\(8, 49, 49\) for a window of 7 x 7.*\(1, 8, 64, 64\)"):
        bias(torch.zeros(1, 8, 64, 64))


@pytest.mark.parametrize("window", [7, (7,), (7, 0), [7, 7], (7.0, 7), (True, 7), ("7", "7")])
def test_a_window_must_be_height_and_width(window):
    with pytest.raises(ValueError, match=r"must be \(height, width\), tokens, got"):
        RelativePositionBias(window, num_heads=8)


@pytest.mark.parametrize("kind", [RelativePositionBias, ContinuousPositionBias])
@pytest.mark.parametrize("heads", [0, -1, 2.5, "8", True])
def test_there_must_be_heads(kind, heads):
    with pytest.raises(ValueError, match="num_heads must be a whole number >= 1"):
        kind((7, 7), num_heads=heads)


@pytest.mark.parametrize("learned", [(-3, -3), (7,), (7.5, 7)])
def test_pretrained_windows_must_be_height_and_width(learned):
    with pytest.raises(ValueError, match=r"pretrained_window_size must be \(height, width\)"):
        ContinuousPositionBias((7, 7), num_heads=2, pretrained_window_size=learned)


def test_a_fresh_table_is_drawn_with_std_0_02():
    table = RelativePositionBias((16, 16), num_heads=32).relative_position_bias_table
    assert table.std().item() == pytest.approx(0.02, rel=0.05)


def test_a_checkpoint_loads_with_any_index_or_none():
    bias, other = (RelativePositionBias((3, 3), num_heads=2) for _ in range(2))
    state = other.state_dict()
    own = bias.relative_position_index.clone()
    bias.load_state_dict({**state, "relative_position_index": own + 1})
    assert torch.equal(bias.relative_position_index, own)
    del state["relative_position_index"]
    bias.load_state_dict(state)
    assert torch.equal(bias.relative_position_bias_table, other.relative_position_bias_table)


def test_the_table_learns():
    bias = RelativePositionBias((2, 2), num_heads=3)
    bias(torch.zeros(6, 3, 4, 4)).sum().backward()
    # Offset (0, 0) is met by 4 pairs in each of 6 windows.
    assert bias.relative_position_bias_table.grad[4].tolist() == [24.0] * 3


def continuous(window=(2, 3), **options):
    return randomise(ContinuousPositionBias(window, num_heads=4, **options))


@pytest.mark.parametrize("learned", [(2, 3), (5, 4)])
def test_a_computed_bias_is_the_networks_answer_to_the_offset(learned):
    module = continuous(pretrained_window_size=learned)
    coords = log_spaced_offsets((2, 3), learned).float().view(3, 5, 2)
    bias = module.bias()
    for query, key in itertools.product(range(6), repeat=2):
        (i, j), (k, m) = divmod(query, 3), divmod(key, 3)
        expected = 16 * module.cpb_mlp(coords[i - k + 1, j - m + 2]).sigmoid()
        torch.testing.assert_close(bias[:, query, key], expected)


def test_a_side_of_0_stands_for_the_windows_own():
    assert continuous(pretrained_window_size=(0, 5)).pretrained_window_size == (2, 5)
    assert torch.equal(continuous().bias(), continuous(pretrained_window_size=(2, 3)).bias())


def test_a_computed_bias_plugs_into_scores_and_follows_the_weights():
    module = continuous()
    scores = torch.randn(5, 4, 6, 6)
    torch.testing.assert_close(module(scores) - scores, module.bias().expand(5, 4, 6, 6))
    with torch.no_grad():
        before = module.bias()
        module.cpb_mlp[2].weight.neg_()
        torch.testing.assert_close(module.bias(), 16 - before)
    with pytest.raises(ValueError, match="build ContinuousPositionBias with"):
        module(torch.zeros(1, 4, 4, 4))


def test_a_computed_bias_saves_its_network_alone_and_all_of_it_learns():
    module = continuous()
    assert list(module.state_dict()) == ["cpb_mlp.0.weight", "cpb_mlp.0.bias", "cpb_mlp.2.weight"]
    module.bias().square().sum().backward()
    assert all(p.grad.any() for p in module.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_computed_bias_is_float32_under_half_precision(dtype):
    module = continuous()
    exact = module.bias()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module.bias(), exact)
    half = module.to(dtype).bias()
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, exact, rtol=0, atol=16 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("kind", [RelativePositionBias, ContinuousPositionBias])
def test_what_the_window_says_outlives_half_precision_and_meta(kind):
    module = randomise(kind((2, 3), num_heads=2))
    exact, state = module.bias(), module.state_dict()
    for other in (
        module.half().float(),
        kind((2, 3), num_heads=2).to("meta").to_empty(device="cpu"),
    ):
        for parameter in other.parameters():
            parameter.data.fill_(torch.nan)
        other.load_state_dict(state)
        assert torch.equal(other.bias(), exact)


@pytest.mark.parametrize("kind", [RelativePositionBias, ContinuousPositionBias])
def test_a_module_moved_in_inference_mode_learns_afterwards(kind):
    module = kind((2, 3), num_heads=2)
    with torch.inference_mode():
        module.to("cpu")
    module.bias().sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())


@pytest.mark.parametrize("kind", [RelativePositionBias, ContinuousPositionBias])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_buffers_follow_weights_that_were_assigned(kind, device):
    module = randomise(kind((2, 3), num_heads=2)).double()
    with torch.device(device):
        other = kind((2, 3), num_heads=2)
    with torch.inference_mode():
        other.load_state_dict(module.state_dict(), assign=True)
    assert other.bias().dtype == torch.float64
    assert torch.equal(other.bias(), module.bias())
    other.bias().sum().backward()


def test_double_precision_is_exact():
    module = continuous().double()
    assert torch.equal(module.relative_coords_table, log_spaced_offsets((2, 3), (2, 3)))
    assert module.bias().dtype == torch.float64
