"""Either Swin with any arguments, by its definition, from named weights alone.

No module, roll, mask, index or window of ours: every token is asked in which window it stands after
the shift and whether it came around a border, and attends to all others of whom that is the same.
Slow, differentiable, in the weights' dtype; the weights must be float64 to judge anything by.
"""

import math
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

Weights = Mapping[str, Tensor]

ACTIVATIONS = {
    "GELU": F.gelu,
    "ReLU": F.relu,
    "SiLU": F.silu,
    "Tanh": torch.tanh,
}


def run(options: Mapping, weights: Weights, pictures: Tensor, *, version: int) -> list[Tensor]:
    """Maps (B, C, H, W) of every stage of ``out_indices``.

    Args:
        options: all of ``version``, ``patch_size``, ``window_size`` and so on, pairs written out.
        weights: by the backbone's names.
        pictures: (B, in_channels, H, W).
        version: 1 or 2.
    """
    x = _patches(weights, pictures, options["patch_size"])
    x = _norm(options, weights, "patch_embed.norm", x)
    if "absolute_pos_embed" in weights:
        sides = zip(options["pretrain_img_size"], options["patch_size"], strict=True)
        grid = [side // step for side, step in sides]
        embedding = weights["absolute_pos_embed"].unflatten(1, grid).permute(0, 3, 1, 2)
        if tuple(grid) != tuple(x.shape[1:3]):
            embedding = F.interpolate(embedding, size=tuple(x.shape[1:3]), mode="bicubic")
        x = x + embedding.permute(0, 2, 3, 1)
    maps, last = [], max(options["out_indices"])
    for stage in range(last + 1):
        for block in range(options["depths"][stage]):
            x = _block(options, weights, x, stage, block, version)
        if stage in options["out_indices"]:
            maps.append(_norm(options, weights, f"norm{stage}", x).permute(0, 3, 1, 2))
        if stage < last:
            x = _merge(options, weights, f"stages.{stage}.downsample", x, stage, version)
    return maps


def _block(options, weights, x, stage, block, version):
    name = f"stages.{stage}.blocks.{block}"
    window, heads = options["window_size"][stage], options["num_heads"][stage]

    def attention(y):
        return _attend(
            options, weights, f"{name}.attn.w_msa", y, window, heads, block % 2, stage, version
        )

    def ffn(y):
        hidden = _linear(weights, f"{name}.ffn.layers.0.0", y)
        hidden = ACTIVATIONS[options["act_cfg"]["type"]](hidden)
        return _linear(weights, f"{name}.ffn.layers.1", hidden)

    for norm, branch in (("norm1", attention), ("norm2", ffn)):
        if version == 1:
            x = x + branch(_norm(options, weights, f"{name}.{norm}", x))
        else:
            x = x + _norm(options, weights, f"{name}.{norm}", branch(x))
    return x


def _attend(options, weights, name, x, window, heads, shifted, stage, version):
    height, width, channels = x.shape[1:]
    full = [-(-size // side) * side for size, side in zip((height, width), window, strict=True)]
    shift = [
        side // 2 if shifted and not (options["small_maps"] == "still" and size == side) else 0
        for size, side in zip(full, window, strict=True)
    ]
    padded = x.new_zeros(x.shape[0], *full, channels)
    padded[:, :height, :width] = x
    qkv = _linear(weights, f"{name}.qkv", padded.flatten(1, 2))
    if version == 2 and f"{name}.q_bias" in weights:
        q_bias, v_bias = weights[f"{name}.q_bias"], weights[f"{name}.v_bias"]
        qkv = qkv + torch.cat([q_bias, 0 * q_bias, v_bias])
    q, k, v = qkv.unflatten(-1, (3, heads, channels // heads)).permute(2, 0, 3, 1, 4)

    r, c = (t.flatten() for t in torch.meshgrid(*map(torch.arange, full), indexing="ij"))
    place = [
        (t - s) % size // side for t, s, size, side in zip((r, c), shift, full, window, strict=True)
    ]
    labels = [*place, r < shift[0], c < shift[1]]
    meet = torch.stack([label[:, None] == label for label in labels]).all(0)
    if options["mask_padding"]:
        real = (r < height) & (c < width)
        meet = meet & (real | torch.eye(len(r), dtype=torch.bool))
    down, across = (t[:, None] - t for t in (r, c))
    apart = [t.clamp(1 - side, side - 1) for t, side in zip((down, across), window, strict=True)]
    if version == 1:
        scale = options["qk_scale"]
        scores = q @ k.mT * ((channels // heads) ** -0.5 if scale is None else scale)
        table = weights[f"{name}.relative_position_bias_table"]
        table = table.view(2 * window[0] - 1, 2 * window[1] - 1, heads)
    else:
        scale = weights[f"{name}.logit_scale"].clamp(max=math.log(100)).exp()
        scores = _unit(q) @ _unit(k).mT * scale
        learned = options["pretrained_window_sizes"][stage]
        reach = [max((old or side) - 1, 1) for old, side in zip(learned, window, strict=True)]
        steps = [
            8 * torch.arange(1 - side, side, dtype=x.dtype) / far
            for side, far in zip(window, reach, strict=True)
        ]
        steps = torch.stack(torch.meshgrid(*steps, indexing="ij"), dim=-1)
        steps = steps.sign() * (steps.abs() + 1).log2() / 3
        hidden = _linear(weights, f"{name}.cpb_mlp.0", steps).clamp(min=0)
        table = 16 * torch.sigmoid(_linear(weights, f"{name}.cpb_mlp.2", hidden))
    bias = table[apart[0] + window[0] - 1, apart[1] + window[1] - 1]
    scores = (scores + bias.permute(2, 0, 1)).masked_fill(~meet, -torch.inf)
    mixed = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2)
    return _linear(weights, f"{name}.proj", mixed).unflatten(1, full)[:, :height, :width]


def _unit(x):
    """Directions; zeros, which padding's keys are, stay zeros."""
    squares = x.square().sum(-1, keepdim=True)
    return torch.where(squares > 0, x / squares.where(squares > 0, 1.0).sqrt(), 0.0 * x)


def _patches(weights, pictures, patch):
    batch, channels, *size = pictures.shape
    rows, columns = (-(-side // step) for side, step in zip(size, patch, strict=True))
    canvas = pictures.new_zeros(batch, channels, rows * patch[0], columns * patch[1])
    canvas[:, :, : size[0], : size[1]] = pictures
    cut = canvas.view(batch, channels, rows, patch[0], columns, patch[1])
    kernel = weights["patch_embed.projection.weight"]
    return torch.einsum("bihkwl,oikl->bhwo", cut, kernel) + weights["patch_embed.projection.bias"]


def _merge(options, weights, name, x, stage, version):
    """2 x 2 neighbours, channel by channel, zeros where there are none."""
    stride = options["strides"][stage + 1]
    batch, height, width, channels = x.shape
    rows, columns = (-(-side // stride) for side in (height, width))
    canvas = x.new_zeros(batch, rows * stride + 1, columns * stride + 1, channels)
    canvas[:, :height, :width] = x
    four = [
        canvas[:, i : i + rows * stride : stride, j : j + columns * stride : stride]
        for i in (0, 1)
        for j in (0, 1)
    ]
    four = torch.stack(four, dim=-1).flatten(-2)
    if version == 1:
        return _linear(weights, f"{name}.reduction", _norm(options, weights, f"{name}.norm", four))
    return _norm(options, weights, f"{name}.norm", _linear(weights, f"{name}.reduction", four))


def _linear(weights, name, x):
    x = x @ weights[f"{name}.weight"].T
    return x + weights[f"{name}.bias"] if f"{name}.bias" in weights else x


def _norm(options, weights, name, x):
    """The norm of that name; where there is none, ``patch_norm=False`` has left it out."""
    is_of_patches = name.startswith("patch_embed") or "downsample" in name
    if is_of_patches and not options["patch_norm"]:
        return x
    cfg = options["norm_cfg"]
    if cfg["type"] == "RMSNorm":
        spread = x.square().mean(-1, keepdim=True)
    else:
        x = x - x.mean(-1, keepdim=True)
        spread = x.square().mean(-1, keepdim=True)
    x = x / (spread + cfg["eps"]).sqrt()
    weight, bias = weights.get(f"{name}.weight"), weights.get(f"{name}.bias")
    x = x if weight is None else x * weight
    return x if bias is None else x + bias
