"""Narrow networks whose maps have several chunks, and how gradients are compared."""

import torch
from random_weights import randomise

from swin_mm import SwinTransformer, SwinTransformerV2

SIZES = {"embed_dims": 8, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
SIZES |= {"out_indices": (0, 1), "drop_path_rate": 0.0}
KINDS = [SwinTransformer, SwinTransformerV2]


def build(kind, **changes):
    return randomise(kind(**{**SIZES, **changes}))


def gradients(model, x):
    generator = torch.Generator().manual_seed(3)
    x = x.clone().requires_grad_()
    maps = model(x)
    model.zero_grad()
    sum((m * torch.randn(m.shape, generator=generator).to(m.dtype)).sum() for m in maps).backward()
    return {"x": x.grad, **{name: p.grad for name, p in model.named_parameters()}}


def assert_alike(ours, theirs, bound=1e-9):
    floor = 1e-3 * max(float(g.abs().max()) for g in theirs.values() if g is not None)
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        assert (ours[name] is None) == (gradient is None), name
        if gradient is not None:
            worst = float((ours[name] - gradient).abs().max())
            assert worst <= bound * max(float(gradient.abs().max()), floor), name
