"""Tiny backbones with every parameter random, and files of them in Microsoft's layout."""

import functools
import re

import pytest
import torch

import swin_mm

MICROSOFT = (
    (r"^stages\.", "layers."),
    (r"\.w_msa\.", "."),
    (r"ffn\.layers\.0\.0", "mlp.fc1"),
    (r"ffn\.layers\.1", "mlp.fc2"),
    (r"^patch_embed\.projection", "patch_embed.proj"),
)


def build_backbone(kind, *, seed=0, **changes):
    """Build a backbone of 8 channels, every parameter random."""
    arguments = {
        "embed_dims": 8,
        "depths": (2, 2, 4),
        "num_heads": (1, 2, 4),
        "strides": (4, 2, 2),
        "out_indices": (0, 1, 2),
        "window_size": 3,
    }
    model = kind(**{**arguments, **changes})
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3, generator=generator)
    return model.eval()


@pytest.fixture
def build():
    """Return a function that builds a backbone; its arguments change the model."""
    return functools.partial(build_backbone, swin_mm.SwinTransformer)


@pytest.fixture
def build_v2():
    """Return a function that builds a SwinV2."""
    return functools.partial(build_backbone, swin_mm.SwinTransformerV2)


@pytest.fixture
def build_either(build, build_v2):
    """Return a function that builds a backbone of either version."""
    return lambda version, **changes: (build, build_v2)[version - 1](**changes)


@pytest.fixture
def as_microsoft():
    """Return a function that writes a backbone as the authors' detectors are written.

    By the definition, channel for channel, not by the table under test.
    """

    def write(model):
        written = {}
        for name, tensor in model.state_dict().items():
            for ours, theirs in MICROSOFT:
                name = re.sub(ours, theirs, name)
            if re.search(r"downsample\.(norm|reduction)", name):
                channels = tensor.shape[-1] // 4
                tensor = torch.stack(
                    [
                        tensor[..., 4 * channel + 2 * row + column]
                        for row, column in ((0, 0), (1, 0), (0, 1), (1, 1))
                        for channel in range(channels)
                    ],
                    dim=-1,
                )
            written[name] = tensor
        return written

    return write


@pytest.fixture
def as_imagenet(as_microsoft):
    """Return a function that writes a backbone as Microsoft's classifiers are written."""

    def write(model):
        written = as_microsoft(model)
        last = f"norm{len(model.stages) - 1}"
        for kind in ("weight", "bias"):
            norm = written[f"{last}.{kind}"]
            for name in [name for name in written if re.fullmatch(rf"norm\d\.{kind}", name)]:
                del written[name]
            written[f"norm.{kind}"] = norm
        written["layers.0.blocks.1.attn_mask"] = torch.zeros(4, 9, 9)
        written["head.weight"] = torch.ones(10, norm.shape[0])
        return {"model": written}

    return write


@pytest.fixture
def same_tensors():
    """Return a function that says which tensors of two state dicts differ, or are in one alone."""

    def differing(one, other):
        names = one.keys() | other.keys()
        return sorted(
            name
            for name in names
            if name not in one or name not in other or not torch.equal(one[name], other[name])
        )

    return differing
