import itertools

import pytest
import torch

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.ops import cut_windows, window_masks
from swin_mm.visualization import Network, attention_weights, record_attention

SMALL = {
    "embed_dims": 8,
    "depths": (2, 2),
    "num_heads": (2, 4),
    "strides": (4, 2),
    "out_indices": (0, 1),
    "window_size": (4, 3),
}
KINDS = [
    (SwinTransformer, {}),
    (SwinTransformer, {"mask_padding": True, "qkv_bias": False}),
    (SwinTransformer, {"small_maps": "still", "qk_scale": 0.7}),
    (SwinTransformerV2, {}),
    (SwinTransformerV2, {"mask_padding": True, "qkv_bias": False}),
]


def network_of(kind, more):
    backbone = kind(**SMALL, **more)
    for parameter in backbone.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return Network(backbone.eval(), "small")


@pytest.mark.parametrize(("kind", "more"), KINDS)
@pytest.mark.parametrize(("stage", "block"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("size", [(30, 50), (5, 7)])
def test_weights_by_values_projected_are_what_the_module_returned(kind, more, stage, block, size):
    network = network_of(kind, more)
    recording = record_attention(network, torch.randn(1, 3, *size), stage=stage, block=block)
    module = recording.attention
    for call in recording.calls:
        weights = attention_weights(module, call.x, call.bias, call.mask)
        bias = module.qkv_bias()
        channels = call.x.shape[-1]
        v = call.x @ module.qkv.weight[2 * channels :].T
        v = v if bias is None else v + bias[2 * channels :]
        v = v.unflatten(-1, (module.num_heads, -1)).transpose(1, 2)
        out = module.proj((weights @ v).transpose(1, 2).flatten(2))
        assert (out - call.out).abs().max() <= 1e-5 * call.out.abs().max().clamp(min=1)
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-5)
        if call.mask is not None:
            assert (weights[..., ~call.mask] == 0).all()


@pytest.mark.parametrize("mask_padding", [False, True])
@pytest.mark.parametrize("block", [0, 1])
def test_a_gaze_is_that_of_the_token_itself(block, mask_padding):
    """Beside the same network's attention over all windows at once, each with its own mask."""
    network = network_of(SwinTransformer, {"mask_padding": mask_padding})
    watched, maps = network.block(0, block), []
    hook = watched.attn.register_forward_pre_hook(lambda _, inputs: maps.append(inputs[0]))
    recording = record_attention(network, torch.randn(1, 3, 30, 50), stage=0, block=block)
    hook.remove()
    plan, module = recording.plan, recording.attention
    number = torch.arange(1, plan.size[0] * plan.size[1] + 1, dtype=torch.float32)
    laid_out = cut_windows(plan.lay_out(number.view(1, *plan.size, 1)), plan.window)[..., 0]
    masks = window_masks(plan, torch.device("cpu"), mask_padding=mask_padding)
    windows = cut_windows(plan.lay_out(maps[0]), plan.window)
    weights = attention_weights(module, windows, module.bias(), masks[:, None])
    for token in itertools.product(range(plan.size[0]), range(plan.size[1])):
        gaze = recording.gaze(token)
        ((window, query),) = (laid_out == token[0] * plan.size[1] + token[1] + 1).nonzero().tolist()
        assert gaze.window == divmod(window, plan.counts[1])
        assert gaze.query == query
        assert torch.allclose(gaze.weights, weights[window, :, query], atol=1e-6)
        assert torch.equal(gaze.allowed, masks[window, query])


def test_recording_changes_no_output_and_leaves_no_hook():
    network, x = network_of(SwinTransformer, {}), torch.randn(1, 3, 30, 50)
    with torch.no_grad():
        before = network.backbone(x)
        record_attention(network, x, stage=1, block=1)
        after = network.backbone(x)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in network.backbone.modules())
