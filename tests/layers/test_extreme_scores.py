"""Queries and keys a thousand times too large: the right keys still win, on every path.

Tokens are -1 or 1, weights whole numbers: queries, keys and values are then exact in every dtype,
and what a block gives in half precision can be told apart from a block whose scores are rounded.
"""

import copy
from contextlib import nullcontext

import pytest
import torch
from random_weights import worst_difference
from torch import nn

from swin_mm.layers import BlockOptions, CosineWindowAttention, SwinBlock, WindowAttention
from swin_mm.ops.kernels import without_kernels

CHANNELS, HEADS, LARGE = 32, 2, 1024
DTYPES = {"half": torch.float16, "bfloat16": torch.bfloat16, "autocast": torch.float32}
CHUNKS = ["chunks", "chunks that learn", "chunks computed again"]
PATHS = ["modules", "in one piece", *CHUNKS, *(f"{path}, by operators" for path in CHUNKS)]


def a_block(version, *, with_cp):
    kind = WindowAttention if version == 1 else CosineWindowAttention
    options = BlockOptions(
        attention=lambda channels, heads: kind(channels, heads, window_size=(3, 3)),
        norm=lambda channels: nn.LayerNorm(channels, eps=0.0),
        activation=nn.GELU,
        post_norm=version == 2,
        with_cp=with_cp,
    )
    block = SwinBlock(CHANNELS, HEADS, options=options, shifted=True).eval()
    attention, generator = block.attn.w_msa, torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in block.ffn.parameters():
            parameter.normal_(std=0.3, generator=generator)
        for layer in (attention.qkv, attention.proj):
            whole = torch.randint(-1, 2, layer.weight.shape, generator=generator)
            layer.weight.copy_(whole)
        attention.qkv.weight[: 2 * CHANNELS] *= LARGE
        if version == 1:
            attention.qkv.bias.copy_(torch.randint(-1, 2, (3 * CHANNELS,), generator=generator))
            attention.qkv.bias[: 2 * CHANNELS] *= LARGE
        else:
            attention.logit_scale.fill_(100.0)  # beyond its limit
            attention.cpb_mlp[2].weight.normal_(generator=generator)
        for parameter in block.parameters():
            parameter.copy_(parameter.bfloat16())  # what no dtype rounds any more
    return block


def tokens():
    """Rows of as many 1 as -1, which a norm leaves as they are; 5 x 7, so that windows pad."""
    order = torch.rand(2, 5, 7, CHANNELS, generator=torch.Generator().manual_seed(2)).argsort(-1)
    return 2.0 * (order < CHANNELS // 2) - 1


def run(block, x, *, learns):
    """Return the output, then all gradients."""
    if not learns:
        with torch.no_grad():
            return [block(x)]
    out = block(x.requires_grad_())
    # Products' gradients grow with what they are made of: out of float16's range otherwise.
    weights = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view_as(out) / LARGE**2
    return [out, *torch.autograd.grad((out * weights).sum(), [x, *block.parameters()])]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("version", [1, 2])
def test_a_block_finds_what_it_finds_in_float64(version, dtype, path, small_chunks, monkeypatch):
    path, by_operators = path.removesuffix(", by operators"), path.endswith("by operators")
    block = a_block(version, with_cp=path == "chunks computed again")
    with torch.no_grad():
        truth = copy.deepcopy(block).double()(tokens().double())
    block.to(DTYPES[dtype])
    if path in ("modules", "in one piece"):
        block.ffn.register_forward_hook(lambda *_: None)  # watched: no chunks
    if path == "in one piece":  # as compilers see it
        monkeypatch.setattr(block.attn, "_attend_by_region", block.attn._attend_at_once)
    off = without_kernels() if by_operators else nullcontext()
    with off, torch.autocast("cpu", torch.bfloat16, enabled=dtype == "autocast"):
        found, *gradients = run(block, tokens().to(DTYPES[dtype]), learns=path != "chunks")
    coarse = torch.bfloat16 if dtype == "autocast" else DTYPES[dtype]
    assert worst_difference(found.double(), truth) < 8 * torch.finfo(coarse).eps
    assert all(gradient.isfinite().all() for gradient in gradients)
