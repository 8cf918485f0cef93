import copy
import itertools
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from random_weights import randomise, worst_difference
from torch import nn

from swin_mm.layers import PatchEmbed, PatchMerging


@pytest.mark.parametrize("size", [(1, 1), (3, 9), (8, 4)])
def test_pictures_are_padded_to_whole_patches(size):
    embed = PatchEmbed(2, 6, patch_size=(4, 2), norm=None)
    x = torch.randn(1, 2, *size)
    padded = torch.zeros(1, 2, -(-size[0] // 4) * 4, -(-size[1] // 2) * 2)
    padded[..., : size[0], : size[1]] = x
    tokens = embed(x)
    assert tokens.shape == (1, padded.shape[2] // 4, padded.shape[3] // 2, 6)
    assert torch.equal(tokens, embed(padded))


def test_patches_are_normed_where_asked():
    embed = PatchEmbed(
        3, 6, patch_size=(4, 4), norm=partial(nn.LayerNorm, elementwise_affine=False)
    )
    tokens = embed(torch.randn(1, 3, 8, 8))
    torch.testing.assert_close(tokens.mean(-1), torch.zeros(1, 2, 2), atol=1e-6, rtol=0)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", list(itertools.product((1, 2, 5, 6), (1, 3, 4))))
@pytest.mark.parametrize("bias", [False, True])
def test_merging_is_unfold_and_a_linear_layer(size, stride, bias):
    merging = PatchMerging(3, 5, stride=stride, norm=nn.LayerNorm)
    merging.reduction = nn.Linear(12, 5, bias=bias)  # a bias is for who puts another layer there
    nn.init.normal_(merging.norm.weight)
    nn.init.normal_(merging.norm.bias)
    x = torch.randn(2, *size, 3)
    rows, columns = (-(-side // stride) for side in size)
    padded = F.pad(x, (0, 0, 0, stride + 1, 0, stride + 1))  # ample
    patches = F.unfold(padded.permute(0, 3, 1, 2), 2, stride=stride)
    count = (padded.shape[2] - 2) // stride + 1
    patches = patches.transpose(1, 2).unflatten(1, (-1, count))[:, :rows, :columns]
    expected = merging.reduction(merging.norm(patches))
    torch.testing.assert_close(merging(x), expected)


def test_a_merged_token_halves_sides_rounding_up():
    merging = PatchMerging(3, 6, stride=2, norm=None)
    assert merging(torch.zeros(1, 5, 8, 3)).shape == (1, 3, 4, 6)


def test_merged_tokens_may_be_normed_instead():
    merging = PatchMerging(3, 6, stride=2, norm=nn.LayerNorm, post_norm=True)
    nn.init.normal_(merging.norm.weight)
    bare = PatchMerging(3, 6, stride=2, norm=None)
    bare.reduction = merging.reduction
    x = torch.randn(1, 5, 4, 3)
    torch.testing.assert_close(merging(x), merging.norm(bare(x)))


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("size", [(36, 4), (41, 3), (36, 1), (36, 5), (4, 36)])
def test_a_single_column_of_patches_is_right_in_bfloat16(size, autocast):
    """oneDNN reads memory that is not its own there, in torch 2.13."""
    embed = PatchEmbed(3, 96, patch_size=(4, 4), norm=None).bfloat16()
    x = torch.randn(2, 3, *size).bfloat16()
    exact = copy.deepcopy(embed).double()(x.double())
    if autocast:
        embed, x = embed.float(), x.float()
    x.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = embed(x)
    assert found.shape == exact.shape
    assert (found.double() - exact).abs().max() < 2e-2 * exact.abs().max()
    found.float().sum().backward()
    wanted = embed.projection.weight.double().sum(0).repeat(1, size[0] // 4 + 1, size[1] // 4 + 1)
    assert (x.grad - wanted[:, : size[0], : size[1]]).abs().max() < 5e-2


def with_device_of_its_own(embed, x):
    with torch.device("cpu"):
        return embed(x)


@pytest.mark.parametrize(
    "call",
    [
        lambda embed, x: embed(nn.Parameter(x)),
        lambda embed, x: torch.func.vmap(lambda one: embed(one[None])[0])(x),
        with_device_of_its_own,
    ],
    ids=["parameter", "vmap", "device"],
)
def test_a_single_column_of_patches_is_right_whoever_asks(call):
    embed = PatchEmbed(3, 96, patch_size=(4, 4), norm=None).bfloat16()
    x = torch.randn(2, 3, 36, 4).bfloat16()
    exact = copy.deepcopy(embed).double()(x.double())
    assert (call(embed, x).double() - exact).abs().max() < 2e-2 * exact.abs().max()


PARTS = {
    "embed": (lambda: PatchEmbed(3, 8, patch_size=(4, 4), norm=nn.LayerNorm), (2, 3, 9, 14)),
    "merge": (lambda: PatchMerging(6, 12, stride=2, norm=nn.LayerNorm), (2, 5, 8, 6)),
}


@pytest.mark.parametrize("mode", ["pure", "autocast"])
@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("part", PARTS)
def test_products_are_of_float32_where_half_precision_is_slow(
    part, has, mode, half_products, monkeypatch
):
    half_products(has)
    make, shape = PARTS[part]
    layer, x, met = randomise(make()), torch.randn(shape), []
    exact = layer(x)
    for name in ("linear", "conv2d"):
        product = getattr(F, name)
        monkeypatch.setattr(
            F, name, lambda x, *rest, product=product: met.append(x.dtype) or product(x, *rest)
        )
    if mode == "pure":
        layer, x = layer.bfloat16(), x.bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=mode == "autocast"):
        found = layer(x)
    assert found.dtype == torch.bfloat16
    assert worst_difference(found.float(), exact) < 0.02
    if not has:
        assert met == [torch.float32]
        assert not torch.is_autocast_enabled("cpu")


def test_a_hook_on_the_projection_is_called(half_products):
    half_products(False)
    layer, seen = PARTS["embed"][0]().bfloat16(), []
    layer.projection.register_forward_hook(lambda *given: seen.append(given))
    layer(torch.randn(1, 3, 8, 8).bfloat16())
    assert len(seen) == 1
