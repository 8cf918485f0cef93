"""Chunks stand for the modules of the papers alone."""

from unittest.mock import Mock

import pytest
import torch
from chunked_networks import assert_alike, build, gradients

from swin_mm import SwinTransformer
from swin_mm.layers import FFN
from swin_mm.ops.attention import prefer_attention

pytestmark = pytest.mark.usefixtures("small_chunks")


@pytest.mark.parametrize(
    "change",
    [
        {"act_cfg": {"type": "ReLU"}},
        {"act_cfg": {"type": "GELU", "approximate": "tanh"}},
        {"norm_cfg": {"type": "LN", "elementwise_affine": False}},
        {"norm_cfg": {"type": "LN", "eps": 1e-2}},
    ],
    ids=str,
)
def test_other_activations_and_norms_give_what_the_whole_gives(change, whole):
    model = build(SwinTransformer, **change).double()
    x = torch.randn(2, 3, 50, 60).double()
    assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))


def test_an_attention_that_was_asked_for_is_taken(monkeypatch):
    model, x = build(SwinTransformer).eval(), torch.randn(1, 3, 60, 70)
    monkeypatch.setattr("swin_mm.layers.block.run_by_chunks", Mock(side_effect=TypeError))
    with torch.no_grad(), prefer_attention("reference"):
        model(x)
    with torch.no_grad(), pytest.raises(TypeError):
        model(x)


class Doubled(torch.nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


class OtherFFN(FFN):
    def forward(self, x):
        return 2 * super().forward(x)


def replace_linear(block):
    block.attn.w_msa.proj.__class__ = Doubled


def replace_ffn(block):
    block.ffn.__class__ = OtherFFN


def replace_last(block):
    block.ffn.layers[2] = torch.nn.Tanh()


def lengthen(block):
    block.ffn.layers.append(torch.nn.Tanh())


def shorten(block):
    block.ffn = torch.nn.Linear(8, 8)


def patch(block):
    forward = block.attn.w_msa.qkv.forward
    block.attn.w_msa.qkv.forward = lambda x: 2 * forward(x)


def without_drop(block):
    block.drop = torch.nn.Identity()


@pytest.mark.parametrize(
    "change", [replace_linear, replace_ffn, replace_last, lengthen, shorten, patch, without_drop]
)
def test_what_took_a_parts_place_is_what_runs(change, whole):
    model, x = build(SwinTransformer), torch.randn(1, 3, 50, 60).double()
    change(model.stages[0].blocks[1])
    model.double()
    assert_alike(gradients(model, x), whole(lambda: gradients(model, x)))
