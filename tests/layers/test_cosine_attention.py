import math

import pytest
import torch
from random_weights import randomise
from torch import nn

from swin_mm.layers import CosineWindowAttention, ShiftedWindowAttention
from swin_mm.ops.attention import choose_backend


def build(**options):
    return randomise(CosineWindowAttention(8, 2, window_size=(2, 3), **options))


def test_scores_are_cosines_and_bias_and_keys_have_no_bias_of_their_own():
    module = build()
    x = torch.randn(3, 6, 8)
    q, k, v = (x @ matrix.T for matrix in module.qkv.weight.chunk(3))
    q, v = q + module.q_bias, v + module.v_bias
    mixed = []
    for head in (slice(0, 4), slice(4, 8)):
        cosines = torch.cosine_similarity(q[:, :, None, head], k[:, None, :, head], dim=-1)
        scores = cosines * module.logit_scale[head.start // 4].exp()
        weights = (scores + module.bias()[head.start // 4]).softmax(-1)
        mixed.append(weights @ v[..., head])
    torch.testing.assert_close(module(x, module.bias()), module.proj(torch.cat(mixed, -1)))


def test_without_biases_there_are_none():
    module = build(qkv_bias=False)
    assert (module.q_bias, module.v_bias) == (None, None)
    with_zeros = build()
    with_zeros.load_state_dict(module.state_dict(), strict=False)
    with_zeros.q_bias.data.zero_()
    with_zeros.v_bias.data.zero_()
    x = torch.randn(3, 6, 8)
    torch.testing.assert_close(module(x, module.bias()), with_zeros(x, with_zeros.bias()))


def test_longer_queries_and_keys_change_nothing():
    module = build(qkv_bias=False)
    x = torch.randn(3, 6, 8)
    before = module(x, module.bias())
    module.qkv.weight.data[:16] *= 7
    torch.testing.assert_close(module(x, module.bias()), before)


def test_training_starts_at_a_factor_of_10_and_zero_biases():
    module = build()
    module.reset_parameters()
    assert module.logit_scale.shape == (2, 1, 1)
    assert module.logit_scale.flatten().tolist() == pytest.approx([math.log(10)] * 2)
    assert not module.q_bias.any() and not module.v_bias.any()


@pytest.mark.parametrize("argument", ["attn_drop_rate", "proj_drop_rate"])
def test_dropout_acts_in_training_alone(argument):
    module = build(**{argument: 0.5})
    x, bias = torch.randn(3, 6, 8), module.bias()
    assert not torch.equal(module(x, bias), module(x, bias))
    module.eval()
    assert torch.equal(module(x, bias), module(x, bias))


def test_a_map_asks_for_its_bias_once(monkeypatch):
    module = ShiftedWindowAttention(build(), shifted=True)
    asked = []
    compute = module.w_msa.bias
    monkeypatch.setattr(module.w_msa, "bias", lambda: asked.append(1) or compute())
    module(torch.randn(2, 5, 7, 8))  # four regions
    assert len(asked) == 1


def test_inference_is_fused_and_the_bias_network_has_gradients_in_training():
    module = build()
    q = torch.randn(1, 2, 6, 4)
    assert choose_backend(q, module.bias()) == "reference"
    with torch.no_grad():
        assert choose_backend(q, module.bias()) == "sdpa"
    module(torch.randn(3, 6, 8), module.bias()).square().sum().backward()
    assert all(p.grad.any() for p in module.parameters())


class Adapted(nn.Module):
    """A layer with something beside it, as LoRA puts it; whoever asks finds the layer's weights."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    @property
    def weight(self):
        return self.base.weight

    @property
    def bias(self):
        return self.base.bias

    def forward(self, x):
        return 2 * self.base(x)


def test_what_stands_in_place_of_a_layer_is_asked():
    module, x = build(), torch.randn(3, 6, 8)
    before = module(x, module.bias())
    module.qkv = Adapted(module.qkv)
    changed = module(x, module.bias())
    module.qkv = module.qkv.base
    module.qkv.weight.data *= 2
    torch.testing.assert_close(changed, module(x, module.bias()))
    bias = module.bias()
    module.cpb_mlp[2] = Adapted(module.cpb_mlp[2])
    changed = module.bias()
    module.cpb_mlp[2] = module.cpb_mlp[2].base
    module.cpb_mlp[2].weight.data *= 2
    torch.testing.assert_close(changed, module.bias())
    assert not torch.equal(changed, bias) and not torch.equal(before, module(x, bias))


def test_hooks_of_the_projection_are_called_and_change_nothing():
    module, x, seen = build(), torch.randn(3, 6, 8), []
    before = module(x, module.bias())
    for layer in (module.qkv, module.cpb_mlp[0]):
        layer.register_forward_hook(lambda *_: seen.append(1))
    torch.testing.assert_close(module(x, module.bias()), before)
    assert len(seen) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_it_can_be_quantised():
    module, x = build().eval(), torch.randn(3, 6, 8)
    quantised = torch.ao.quantization.quantize_dynamic(module, {nn.Linear}).to("cpu")
    bound = 0.05 * module(x, module.bias()).abs().max()
    assert (quantised(x, quantised.bias()) - module(x, module.bias())).abs().max() < bound
