from functools import partial

import pytest
import torch
from random_weights import randomise
from torch import nn

from swin_mm.layers import BlockOptions, PatchMerging, SwinBlock, SwinStage, WindowAttention


def options(attn_drop_rate=0.0, **changes):
    attention = partial(WindowAttention, window_size=(3, 3), attn_drop_rate=attn_drop_rate)
    return BlockOptions(attention, norm=nn.LayerNorm, activation=nn.GELU, **changes)


def test_a_block_is_two_residuals_behind_norms():
    block = randomise(SwinBlock(8, 2, options=options(), shifted=True)).eval()
    x = torch.randn(2, 5, 4, 8)
    middle = x + block.attn(block.norm1(x))
    torch.testing.assert_close(block(x), middle + block.ffn.layers(block.norm2(middle)))


def test_a_block_may_have_its_norms_last_and_drops_them_with_the_branch():
    block = randomise(SwinBlock(8, 2, options=options(post_norm=True), drop_path_rate=0.5)).eval()
    x = torch.randn(2, 5, 4, 8)
    middle = x + block.norm1(block.attn(x))
    torch.testing.assert_close(block(x), middle + block.norm2(block.ffn.layers(middle)))
    block.drop.rate = 1.0  # a norm's bias would stay
    assert torch.equal(block.train()(x), x)


def test_every_second_block_is_shifted_and_has_its_own_rate():
    rates = [0.0, 0.1, 0.2]
    stage = SwinStage(8, 2, options=options(), drop_path_rates=rates, downsample=None)
    assert [block.attn.shifted for block in stage.blocks] == [False, True, False]
    assert [block.drop.rate for block in stage.blocks] == rates


def test_a_stage_gives_its_map_and_what_the_next_stage_takes():
    merging = PatchMerging(8, 16, stride=2, norm=nn.LayerNorm)
    stage = SwinStage(8, 2, options=options(), drop_path_rates=[0.0, 0.0], downsample=merging)
    x = torch.randn(1, 10, 9, 8)
    out, merged = randomise(stage)(x)
    assert torch.equal(out, stage.blocks[1](stage.blocks[0](x)))
    assert torch.equal(merged, merging(out))
    stage.downsample = None
    assert stage(x)[1] is None


def test_recomputing_keeps_the_blocks_input_alone():
    x = torch.randn(1, 60, 60, 8, requires_grad=True)

    def saved_bytes(with_cp):
        block = randomise(SwinBlock(8, 2, options=options(with_cp=with_cp)))
        parameters = {p.data_ptr() for p in block.parameters()}
        sizes = {}

        def keep(tensor):
            if tensor.data_ptr() not in parameters:
                sizes[tensor.data_ptr()] = tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            block(x)
        return sum(sizes.values())

    assert saved_bytes(with_cp=True) < saved_bytes(with_cp=False) / 10


def test_recomputing_draws_the_same_dropout():
    results = []
    for with_cp in (False, True):
        block = SwinBlock(8, 2, options=options(with_cp=with_cp, drop_rate=0.3, attn_drop_rate=0.3))
        randomise(block)
        torch.manual_seed(1)
        block(torch.ones(1, 6, 6, 8)).sum().backward()
        results.append([p.grad for p in block.parameters()])
    for plain, again in zip(*results, strict=True):
        torch.testing.assert_close(plain, again)


@pytest.mark.parametrize("argument", ["drop_rate", "attn_drop_rate"])
def test_dropout_acts_in_training_alone(argument):
    block = randomise(SwinBlock(8, 2, options=options(**{argument: 0.5})))
    x = torch.randn(1, 3, 3, 8)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))
