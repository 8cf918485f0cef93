"""Swin Transformer V2 by its definition, from named weights alone (Liu et al. 2022).

No module of ours, no roll, no mask, no index: tokens that stand together after the shift are looked
up one by one, and every pair of them asks the position network for its own bias.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class Network:
    """What the weights do not tell.

    ``slip`` names one deliberate mistake, for tests that must see it: ``"no clamp"``, ``"norm
    first"``, ``"merge order"``, ``"key bias"`` or ``"own window"``.
    """

    depths: Sequence[int]
    heads: Sequence[int]
    windows: Sequence[tuple[int, int]]
    pretrained_windows: Sequence[tuple[int, int]]
    mask_padding: bool = False
    small_maps: str = "shift"
    slip: str = ""


def run(network: Network, weights: Weights, picture: Tensor) -> list[Tensor]:
    """Feature maps (C, H, W) of every stage of a picture (3, H, W), in the weights' dtype."""
    x = _norm(weights, "patch_embed.norm", _patches(weights, picture))
    maps = []
    for stage, depth in enumerate(network.depths):
        for block in range(depth):
            name = f"stages.{stage}.blocks.{block}"
            x = x + _branch(network, weights, f"{name}.norm1", x, attend, name, stage, block % 2)
            x = x + _branch(network, weights, f"{name}.norm2", x, _ffn, name)
        maps.append(_norm(weights, f"norm{stage}", x).permute(2, 0, 1))
        if stage < len(network.depths) - 1:
            x = _merge(network, weights, f"stages.{stage}.downsample", x)
    return maps


def _branch(network, weights, norm, x, function, *arguments):
    if network.slip == "norm first":
        return function(network, weights, _norm(weights, norm, x), *arguments)
    return _norm(weights, norm, function(network, weights, x, *arguments))


def attend(network, weights, x, name, stage, shifted):
    """Cosine attention over a map (H, W, C), group by group of tokens that may meet."""
    name, heads = f"{name}.attn.w_msa", network.heads[stage]
    height, width, channels = x.shape
    sides = network.windows[stage]
    learned = sides if network.slip == "own window" else network.pretrained_windows[stage]
    full = [-(-size // side) * side for size, side in zip((height, width), sides, strict=True)]
    shift = [
        side // 2 if shifted and not (network.small_maps == "still" and size == side) else 0
        for size, side in zip(full, sides, strict=True)
    ]
    groups = defaultdict(list)
    for token in itertools.product(*map(range, full)):
        moved = [(t - s) % size for t, s, size in zip(token, shift, full, strict=True)]
        window = tuple(m // side for m, side in zip(moved, sides, strict=True))
        came_around = tuple(t < s for t, s in zip(token, shift, strict=True))
        groups[window, came_around].append(token)
    qkv = weights[f"{name}.qkv.weight"].view(3, channels, channels)
    bias = [weights[f"{name}.q_bias"], 0, weights[f"{name}.v_bias"]]
    bias[1] = bias[0] if network.slip == "key bias" else 0
    zero = x.new_zeros(channels)
    scale = weights[f"{name}.logit_scale"].flatten()
    if network.slip != "no clamp":
        scale = scale.clamp(max=math.log(100))
    out = {}
    for group in groups.values():
        real = [r < height and c < width for r, c in group]
        tokens = torch.stack([x[t] if ok else zero for t, ok in zip(group, real, strict=True)])
        q, k, v = (
            (tokens @ matrix.T + b).view(len(group), heads, -1)
            for matrix, b in zip(qkv, bias, strict=True)
        )
        cosine = torch.einsum("qhd,khd->hqk", _unit(q), _unit(k))
        scores = cosine * scale.exp()[:, None, None] + _bias(weights, name, group, learned)
        if network.mask_padding:
            scores = scores[..., real]
            v = v[real]
        mixed = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v).flatten(1)
        mixed = mixed @ weights[f"{name}.proj.weight"].T + weights[f"{name}.proj.bias"]
        out.update(zip(group, mixed, strict=True))
    return torch.stack([torch.stack([out[r, c] for c in range(width)]) for r in range(height)])


def _unit(x):
    """Zeros, which padding's keys are, stay zeros."""
    length = (x * x).sum(-1, keepdim=True)
    return torch.where(length > 0, x / torch.where(length > 0, length, 1.0).sqrt(), 0.0 * x)


def _bias(weights, name, group, learned):
    """16 sigmoid(MLP(offset)) for each pair of a group of tokens, (nH, n, n)."""
    place = torch.tensor(group, dtype=weights[f"{name}.logit_scale"].dtype)
    offset = place[:, None] - place[None]
    scaled = 8 * offset / torch.tensor([max(side - 1, 1) for side in learned])
    spaced = torch.sign(scaled) * torch.log2(1 + scaled.abs()) / 3
    first = spaced @ weights[f"{name}.cpb_mlp.0.weight"].T + weights[f"{name}.cpb_mlp.0.bias"]
    second = first.clamp(min=0) @ weights[f"{name}.cpb_mlp.2.weight"].T
    return (16 / (1 + torch.exp(-second))).permute(2, 0, 1)


def _ffn(network, weights, x, name):
    first, second = f"{name}.ffn.layers.0.0", f"{name}.ffn.layers.1"
    hidden = F.gelu(x @ weights[f"{first}.weight"].T + weights[f"{first}.bias"])
    return hidden @ weights[f"{second}.weight"].T + weights[f"{second}.bias"]


def _norm(weights, name, x):
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _patches(weights, picture):
    """Tokens (H, W, C) of 4 x 4 px, zeros beyond the border."""
    height, width = (-(-side // 4) for side in picture.shape[1:])
    canvas = picture.new_zeros(3, 4 * height, 4 * width)
    canvas[:, : picture.shape[1], : picture.shape[2]] = picture
    kernel = weights["patch_embed.projection.weight"]
    patches = canvas.view(3, height, 4, width, 4)
    return torch.einsum("ihkwl,oikl->hwo", patches, kernel) + weights["patch_embed.projection.bias"]


def _merge(network, weights, name, x):
    """Four neighbours' channels, channel by channel in reading order, to twice the channels."""
    height, width, channels = x.shape
    padded = x.new_zeros(height + height % 2, width + width % 2, channels)
    padded[:height, :width] = x
    four = [padded[i::2, j::2] for i, j in itertools.product((0, 1), repeat=2)]
    if network.slip == "merge order":
        four[1], four[2] = four[2], four[1]
    merged = torch.stack(four, dim=-1).flatten(-2) @ weights[f"{name}.reduction.weight"].T
    return _norm(weights, f"{name}.norm", merged)
