"""Swin and SwinV2 by their definitions, on state dicts with the authors' names.

Stands in for the authors' repositories, which no package index carries. Written from the papers
(Liu et al. 2021, 2022) and from what the published files hold; slow, in float64, and without
windows, rolls or padding arithmetic of ours: every token is asked in which window it stands and
whether it came around the border. Nothing here imports swin_mm.

Two forms: a classifier of square pictures, which stops the shift and shrinks the window on maps
that a window covers; and the dense form of the authors' detectors and segmentors, which pads every
map to whole windows and always shifts, with a norm per output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

State = Mapping[str, Tensor]


@dataclass(frozen=True)
class Sizes:
    """What no tensor tells, and what makes them.

    Attributes:
        embed_dim: channels of the first stage, C.
        depths: blocks of each stage.
        heads: heads of each stage.
        window: tokens.
        version: 1 or 2.
        mlp_ratio: channels between an MLP's layers by its channels.
        picture: side of a classifier's picture, px; None for the dense form.
        pretrained_windows: of SwinV2, one a stage, tokens; 0 for the window itself.
        classes: of the head; None without one.
        pretrain_grid: height and width of the absolute position embedding, patches, if any.
    """

    embed_dim: int
    depths: tuple[int, ...]
    heads: tuple[int, ...]
    window: int
    version: int = 1
    mlp_ratio: int = 2
    picture: int | None = None
    pretrained_windows: tuple[int, ...] = ()
    classes: int | None = None
    pretrain_grid: tuple[int, int] | None = None

    def side(self, stage: int) -> int | None:
        """Side of a classifier's map, tokens; None for the dense form, which takes any."""
        return self.picture and self.picture // 4 // 2**stage

    def window_of(self, stage: int) -> int:
        """The window, shrunk to a classifier's map."""
        return min(self.window, self.side(stage) or self.window)

    def reach_of(self, stage: int) -> int:
        """Tokens from a window's side to the other where SwinV2's bias was learned."""
        learned = self.pretrained_windows[stage] if self.pretrained_windows else 0
        return (learned or self.window_of(stage)) - 1

    def shift_of(self, stage: int, block: int) -> int:
        """How far a block shifts, tokens: every second one, unless a window covers the map."""
        covered = self.picture is not None and self.side(stage) <= self.window
        return 0 if covered or block % 2 == 0 else self.window // 2


PATCH = 4  # px


def features(state: State, x: Tensor, sizes: Sizes) -> list[Tensor]:
    """Maps of every stage before merging and output norms, (B, H, W, C)."""
    state, x = {name: value.double() for name, value in state.items()}, x.double()
    x = functional.pad(x, (0, -x.shape[3] % PATCH, 0, -x.shape[2] % PATCH))
    x = functional.conv2d(
        x, state["patch_embed.proj.weight"], state["patch_embed.proj.bias"], stride=PATCH
    ).permute(0, 2, 3, 1)
    x = layer_norm(state, "patch_embed.norm", x)
    if sizes.pretrain_grid is not None:
        embedding = functional.interpolate(
            state["absolute_pos_embed"], size=x.shape[1:3], mode="bicubic"
        )
        x = x + embedding.permute(0, 2, 3, 1)
    maps = []
    for stage, depth in enumerate(sizes.depths):
        for block in range(depth):
            x = run_block(state, x, sizes, stage, block)
        maps.append(x)
        if stage < len(sizes.depths) - 1:
            x = merge(state, f"layers.{stage}.downsample", x, sizes.version)
    return maps


def dense_outputs(state: State, x: Tensor, sizes: Sizes) -> list[Tensor]:
    """What the authors' detectors get: a normed map per stage, (B, C, H, W)."""
    return [
        layer_norm(state, f"norm{stage}", m).permute(0, 3, 1, 2)
        for stage, m in enumerate(features(state, x, sizes))
    ]


def last_map(state: State, x: Tensor, sizes: Sizes) -> Tensor:
    """The normed map before a classifier's pooling, (B, C, H, W)."""
    return layer_norm(state, "norm", features(state, x, sizes)[-1]).permute(0, 3, 1, 2)


def logits(state: State, x: Tensor, sizes: Sizes) -> Tensor:
    """What the authors' classifier gives, (B, classes)."""
    pooled = last_map(state, x, sizes).mean((2, 3))
    return linear(state, "head", pooled)


def run_block(state: State, x: Tensor, sizes: Sizes, stage: int, block: int) -> Tensor:
    """A block: norms before the branches in Swin, behind them in SwinV2."""
    name = f"layers.{stage}.blocks.{block}"
    window, shift = sizes.window_of(stage), sizes.shift_of(stage, block)

    def attention(y: Tensor) -> Tensor:
        return attend(state, f"{name}.attn", y, sizes, stage, window=window, shift=shift)

    def mlp(y: Tensor) -> Tensor:
        hidden = functional.gelu(linear(state, f"{name}.mlp.fc1", y))
        return linear(state, f"{name}.mlp.fc2", hidden)

    if sizes.version == 1:
        x = x + attention(layer_norm(state, f"{name}.norm1", x))
        return x + mlp(layer_norm(state, f"{name}.norm2", x))
    x = x + layer_norm(state, f"{name}.norm1", attention(x))
    return x + layer_norm(state, f"{name}.norm2", mlp(x))


def attend(
    state: State, name: str, x: Tensor, sizes: Sizes, stage: int, *, window: int, shift: int
) -> Tensor:
    """Attention of all tokens to all, those of other windows left out, (B, H, W, C).

    Tokens of one window from two sides of the border keep the authors' -100 in their scores.
    """
    height, width, channels = x.shape[1:]
    heads = sizes.heads[stage]
    x = functional.pad(x, (0, 0, 0, -width % window, 0, -height % window))
    rows, columns = x.shape[1:3]
    qkv = x.flatten(1, 2) @ state[f"{name}.qkv.weight"].T + qkv_bias(state, name)
    q, k, v = qkv.unflatten(-1, (3, heads, channels // heads)).permute(2, 0, 3, 1, 4)
    if sizes.version == 1:
        scores = q @ k.transpose(-1, -2) * (channels // heads) ** -0.5
    else:
        scale = state[f"{name}.logit_scale"].clamp(max=math.log(100)).exp()
        scores = functional.normalize(q, dim=-1) @ functional.normalize(k, dim=-1).mT * scale
    table = bias_table(state, name, window, sizes.reach_of(stage))

    r, c = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    r, c = r.flatten(), c.flatten()
    reach = window - 1
    down = (r[:, None] - r).clamp(-reach, reach) + reach
    across = (c[:, None] - c).clamp(-reach, reach) + reach
    scores = scores + table[down, across].permute(2, 0, 1)
    shifted_r, shifted_c = (r - shift) % rows, (c - shift) % columns
    place = shifted_r // window * columns + shifted_c // window
    side = 2 * (r < shift) + 1 * (c < shift)  # came around the upper border, the left one
    scores = scores - 100.0 * (side[:, None] != side)
    scores = scores.masked_fill(place[:, None] != place, -torch.inf)
    mixed = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2)
    mixed = linear(state, f"{name}.proj", mixed).unflatten(1, (rows, columns))
    return mixed[:, :height, :width]


def qkv_bias(state: State, name: str) -> Tensor:
    """(3C,); SwinV2's keys have none."""
    if f"{name}.qkv.bias" in state:
        return state[f"{name}.qkv.bias"]
    q, v = state[f"{name}.q_bias"], state[f"{name}.v_bias"]
    return torch.cat([q, torch.zeros_like(q), v])


def bias_table(state: State, name: str, window: int, reach: int) -> Tensor:
    """Bias by offset in rows and columns, (2 window - 1, 2 window - 1, nH).

    Swin's is learned, SwinV2's computed from log-spaced offsets.
    """
    if f"{name}.relative_position_bias_table" in state:
        side = 2 * window - 1
        return state[f"{name}.relative_position_bias_table"].view(side, side, -1)
    hidden = log_offsets(window, reach)
    hidden = (hidden @ state[f"{name}.cpb_mlp.0.weight"].T + state[f"{name}.cpb_mlp.0.bias"]).relu()
    return 16 * torch.sigmoid(hidden @ state[f"{name}.cpb_mlp.2.weight"].T)


def log_offsets(window: int, reach: int) -> Tensor:
    """SwinV2's coordinates, (2 window - 1, 2 window - 1, 2), in which the reach is 8 steps."""
    steps = 8 * torch.arange(1 - window, window, dtype=torch.float64) / reach
    steps = steps.sign() * (steps.abs() + 1).log2() / 3
    return torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1)


def merge(state: State, name: str, x: Tensor, version: int) -> Tensor:
    """Join 2x2 tokens, first down, then across; norm before the projection, in SwinV2 behind."""
    x = functional.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
    corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
    x = torch.cat(corners, dim=-1)
    if version == 1:
        return layer_norm(state, f"{name}.norm", x) @ state[f"{name}.reduction.weight"].T
    return layer_norm(state, f"{name}.norm", x @ state[f"{name}.reduction.weight"].T)


def linear(state: State, name: str, x: Tensor) -> Tensor:
    """A linear layer by name."""
    weight, bias = state[f"{name}.weight"].double(), state[f"{name}.bias"].double()
    return functional.linear(x, weight, bias)


def layer_norm(state: State, name: str, x: Tensor) -> Tensor:
    """A LayerNorm by name."""
    weight, bias = state[f"{name}.weight"].double(), state[f"{name}.bias"].double()
    return functional.layer_norm(x, x.shape[-1:], weight, bias)


def official_state(sizes: Sizes, draw: Callable[[str, tuple[int, ...]], Tensor]) -> dict:
    """A state dict as the authors' code saves it, buffers included, by name and shape."""
    state: dict[str, Tensor] = {}

    def parameters(prefix: str, **shapes: tuple[int, ...]) -> None:
        for name, shape in shapes.items():
            state[f"{prefix}.{name}"] = draw(f"{prefix}.{name}", shape)

    def affine(prefix: str, channels: int) -> None:
        parameters(prefix, weight=(channels,), bias=(channels,))

    channels = sizes.embed_dim
    if sizes.pretrain_grid is not None:
        shape = (1, channels, *sizes.pretrain_grid)
        state["absolute_pos_embed"] = draw("absolute_pos_embed", shape)
    parameters("patch_embed.proj", weight=(channels, 3, PATCH, PATCH), bias=(channels,))
    affine("patch_embed.norm", channels)
    for stage, (depth, heads) in enumerate(zip(sizes.depths, sizes.heads, strict=True)):
        channels = sizes.embed_dim * 2**stage
        window = sizes.window_of(stage)
        for block in range(depth):
            name = f"layers.{stage}.blocks.{block}"
            if shift := sizes.picture and sizes.shift_of(stage, block):
                state[f"{name}.attn_mask"] = attention_mask(sizes.side(stage), window, shift)
            affine(f"{name}.norm1", channels)
            attention = f"{name}.attn"
            if sizes.version == 1:
                parameters(attention, relative_position_bias_table=((2 * window - 1) ** 2, heads))
            else:
                parameters(
                    attention, logit_scale=(heads, 1, 1), q_bias=(channels,), v_bias=(channels,)
                )
                offsets = log_offsets(window, sizes.reach_of(stage))
                state[f"{attention}.relative_coords_table"] = offsets[None].float()
            state[f"{attention}.relative_position_index"] = relative_index(window)
            if sizes.version == 1:
                parameters(
                    f"{attention}.qkv", weight=(3 * channels, channels), bias=(3 * channels,)
                )
            else:
                parameters(f"{attention}.cpb_mlp.0", weight=(512, 2), bias=(512,))
                parameters(f"{attention}.cpb_mlp.2", weight=(heads, 512))
                parameters(f"{attention}.qkv", weight=(3 * channels, channels))
            parameters(f"{attention}.proj", weight=(channels, channels), bias=(channels,))
            affine(f"{name}.norm2", channels)
            hidden = sizes.mlp_ratio * channels
            parameters(f"{name}.mlp.fc1", weight=(hidden, channels), bias=(hidden,))
            parameters(f"{name}.mlp.fc2", weight=(channels, hidden), bias=(channels,))
        if stage < len(sizes.depths) - 1:
            merging = f"layers.{stage}.downsample"
            parameters(f"{merging}.reduction", weight=(2 * channels, 4 * channels))
            affine(f"{merging}.norm", (4 if sizes.version == 1 else 2) * channels)
    if sizes.picture is None:
        for stage in range(len(sizes.depths)):
            affine(f"norm{stage}", sizes.embed_dim * 2**stage)
    else:
        affine("norm", channels)
    if sizes.classes:
        parameters("head", weight=(sizes.classes, channels), bias=(sizes.classes,))
    return state


def relative_index(window: int) -> Tensor:
    """Row of the bias table for each pair of tokens of a window, (N, N)."""
    r, c = torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")
    r, c = r.flatten(), c.flatten()
    return (r[:, None] - r + window - 1) * (2 * window - 1) + c[:, None] - c + window - 1


def attention_mask(side: int, window: int, shift: int) -> Tensor:
    """The buffer of a shifted block on a square map, 0 or -100, (nW, N, N)."""
    last = torch.arange(side)  # rows, or columns, of the shifted map
    region = 1 * (last >= side - window) + 1 * (last >= side - shift)
    regions = 3 * region[:, None] + region
    windows = regions.unfold(0, window, window).unfold(1, window, window).flatten(0, 1).flatten(1)
    return -100.0 * (windows[:, None] != windows[:, :, None]).float()
