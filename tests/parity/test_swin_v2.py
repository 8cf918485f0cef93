"""The second version against its definition: maps, gradients, and mistakes that must show."""

import functools
import itertools

import brute_force_v2
import pytest
import torch
from random_weights import randomise, worst_difference

from swin_mm import SwinTransformerV2

SIZES = [(1, 1), (7, 9), (31, 33), (56, 224)]
DEPTHS, HEADS = (2, 2, 1), (1, 2, 2)
WINDOWS = {
    "square": (4, 0),
    "oblong": ((2, 5), (3, 8)),
    "by stage": ([3, (4, 2), 5], [(2, 6), 0, 3]),
    "single tokens": (1, 1),
    "learned on single tokens": (3, 1),
}


def build(window_size=4, pretrained_window_sizes=0, **options):
    model = SwinTransformerV2(
        embed_dims=4,
        depths=DEPTHS,
        num_heads=HEADS,
        strides=(4, 2, 2),
        out_indices=(0, 1, 2),
        window_size=window_size,
        pretrained_window_sizes=pretrained_window_sizes,
        drop_path_rate=0.0,
        **options,
    )
    randomise(model)
    for stage in model.stages:
        for block in stage.blocks:
            block.attn.w_msa.logit_scale.data += 1.5
            block.attn.w_msa.logit_scale.data[-1] = 5.0  # e^5 > 100
    return model


def definition(model, slip=""):
    attention = [stage.blocks[0].attn for stage in model.stages]
    return brute_force_v2.Network(
        DEPTHS,
        HEADS,
        [each.w_msa.window_size for each in attention],
        [each.w_msa.pretrained_window_size for each in attention],
        mask_padding=attention[0].mask_padding,
        small_maps=attention[0].small_maps,
        slip=slip,
    )


def truth(model, picture, slip=""):
    """Maps by the definition, in float64, and the weights they hang on."""
    weights = {n: p.detach().double().requires_grad_() for n, p in model.named_parameters()}
    return brute_force_v2.run(definition(model, slip), weights, picture.double()), weights


def cotangents(maps):
    return [torch.randn(m.shape[-3:], dtype=torch.float64) for m in maps]


@pytest.mark.parametrize(
    ("windows", "size"),
    # Tokens on their own take the definition one loop each: small maps do.
    [case for case in itertools.product(WINDOWS, SIZES) if case != ("single tokens", SIZES[-1])],
)
def test_maps_and_gradients_are_the_definitions(windows, size):
    model = build(*WINDOWS[windows])
    picture = torch.randn(3, *size)
    maps, weights = truth(model, picture)
    for grad in (True, False):  # False: the fused kernel
        with torch.set_grad_enabled(grad):
            ours = model(picture[None])
        assert max(worst_difference(a[0], b) for a, b in zip(ours, maps, strict=True)) < 1e-4
    ours, directions = model.double()(picture[None].double()), cotangents(maps)
    assert max(worst_difference(a[0], b) for a, b in zip(ours, maps, strict=True)) < 1e-11
    for found in (ours, maps):
        sum((m.squeeze(0) * d).sum() for m, d in zip(found, directions, strict=True)).backward()
    floor = max(float(w.grad.abs().max()) for w in weights.values())
    for name, parameter in model.named_parameters():
        off = (parameter.grad - weights[name].grad).abs().max()
        assert off <= 1e-9 * max(float(weights[name].grad.abs().max()), 1e-3 * floor), name


@pytest.mark.parametrize("options", [{"mask_padding": True}, {"small_maps": "still"}], ids=str)
@pytest.mark.parametrize("size", [(1, 1), (31, 33), (56, 224)])
def test_the_flags_do_what_the_definition_says(size, options):
    model = build((4, 3), **options)
    picture = torch.randn(3, *size)
    maps, _ = truth(model, picture)
    ours = model.double()(picture[None].double())
    assert max(worst_difference(a[0], b) for a, b in zip(ours, maps, strict=True)) < 1e-11


@functools.cache
def oblong_case():
    return build((4, 3), (6, 5)).double(), torch.randn(3, 31, 33)


@pytest.mark.parametrize(
    "slip", ["", "no clamp", "norm first", "merge order", "key bias", "own window"]
)
def test_the_comparison_sees_every_slip(slip):
    model, picture = oblong_case()
    maps, _ = truth(model, picture, slip)
    with torch.no_grad():
        ours = model(picture[None].double())
    off = max(worst_difference(a[0], b) for a, b in zip(ours, maps, strict=True))
    assert off > 1e-3 if slip else off < 1e-11


def test_pieces_as_compilers_see_them_are_the_same(monkeypatch):
    model, picture = oblong_case()
    maps, _ = truth(model, picture)
    for stage in model.stages:
        for block in stage.blocks:
            monkeypatch.setattr(block.attn, "_attend_by_region", block.attn._attend_at_once)
    with torch.no_grad():
        ours = model(picture[None].double())
    assert max(worst_difference(a[0], b) for a, b in zip(ours, maps, strict=True)) < 1e-11
