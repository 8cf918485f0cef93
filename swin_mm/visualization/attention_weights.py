"""The attention weights of a block, from its own queries, keys, bias and masks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.layers import CosineWindowAttention, WindowAttention
from swin_mm.ops import Region, WindowPlan, regions, scaled_cosines, window_attention
from swin_mm.visualization.maps import plan_of
from swin_mm.visualization.network import Network


@dataclass(frozen=True)
class Call:
    """What a block's attention was given for the windows of one region, and what it made of it.

    Attributes:
        region: which windows.
        x: their tokens, (windows, N, C).
        bias: of every pair, (nH, N, N).
        mask: True where attention is allowed, (N, N); ``None`` where everything is.
        out: (windows, N, C).
    """

    region: Region
    x: Tensor
    bias: Tensor
    mask: Tensor | None
    out: Tensor


@dataclass(frozen=True)
class Gaze:
    """What one token attends to.

    Attributes:
        window: row and column of its window in the laid-out map.
        query: its number in the window, in reading order.
        weights: what it attends to, each row sums to 1, (nH, N).
        allowed: True at the keys that it may look at, (N,).
    """

    window: tuple[int, int]
    query: int
    weights: Tensor
    allowed: Tensor


@dataclass(frozen=True)
class Recording:
    """A block at work on a picture.

    Attributes:
        plan: the windows of its map.
        attention: the module within the windows.
        calls: of it, in the order of :func:`swin_mm.ops.regions`.
    """

    plan: WindowPlan
    attention: WindowAttention | CosineWindowAttention
    calls: tuple[Call, ...]

    def gaze(self, token: tuple[int, int]) -> Gaze:
        """Tell what a token of the map, by row and column, attends to."""
        (mh, mw), padded = self.plan.window, self.plan.padded_size
        at = [(i - s) % n for i, s, n in zip(token, self.plan.shift, padded, strict=True)]
        (row, y), (column, x) = divmod(at[0], mh), divmod(at[1], mw)
        call = next(one for one in self.calls if _holds(one.region, row, column))
        rows, columns = call.region.rows, call.region.columns
        number = (row - rows.start) * columns.count + column - columns.start
        weights = attention_weights(
            self.attention, call.x[number : number + 1], call.bias, call.mask
        )
        query = y * mw + x
        if call.mask is None:
            allowed = torch.ones(mh * mw, dtype=torch.bool)
        else:
            allowed = call.mask[query].cpu()
        return Gaze((row, column), query, weights[0, :, query].float().cpu(), allowed)


def record_attention(network: Network, x: Tensor, *, stage: int, block: int) -> Recording:
    """Let a network look at a picture, and write down what a block's attention is given.

    Args:
        network: runs once, without gradient. Hooks keep its blocks from running by chunks.
        x: (1, 3, H, W), normed.
        stage: which, from 0 on.
        block: which of the stage's, from 0 on.

    Raises:
        DrawingError: if there is no such block.
    """
    watched = network.block(stage, block)
    sizes, given = [], []

    def see_map(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        sizes.append(tuple(inputs[0].shape[1:3]))

    def see_windows(_: nn.Module, inputs: tuple[Tensor | None, ...], out: Tensor) -> None:
        given.append((*inputs, out))

    hooks = [
        watched.attn.register_forward_pre_hook(see_map),
        watched.attn.w_msa.register_forward_hook(see_windows),
    ]
    try:
        with torch.no_grad():
            network.backbone(x)
    finally:
        for hook in hooks:
            hook.remove()
    plan = plan_of(watched, sizes[0])
    order = [one for row in regions(plan, mask_padding=watched.attn.mask_padding) for one in row]
    calls = tuple(Call(region, *seen) for region, seen in zip(order, given, strict=True))
    return Recording(plan, watched.attn.w_msa, calls)


def attention_weights(
    attention: WindowAttention | CosineWindowAttention,
    x: Tensor,
    bias: Tensor,
    mask: Tensor | None,
) -> Tensor:
    """Compute the weights that the module attends with, which it never has as a whole.

    Attention is a product of weights and values; with the identity as values it is the weights.

    Args:
        attention: a block's.
        x: tokens by window, (windows, N, C).
        bias: (nH, N, N).
        mask: True where attention is allowed, (N, N), or ``None``.

    Returns:
        Queries by keys, (windows, nH, N, N).
    """
    with torch.no_grad():
        qkv = F.linear(x, attention.qkv.weight, attention.qkv_bias())
        q, k, v = qkv.unflatten(-1, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if isinstance(attention, CosineWindowAttention):
            q, k = scaled_cosines(q, k, attention.logit_scale)
        number = x.shape[1]
        identity = torch.eye(number, dtype=v.dtype, device=v.device).expand(
            *v.shape[:2], number, number
        )
        return window_attention(
            q, k, identity, bias=bias, mask=mask, scale=attention.scale, backend="reference"
        )


def _holds(region: Region, row: int, column: int) -> bool:
    rows, columns = region.rows, region.columns
    return rows.start <= row < rows.stop and columns.start <= column < columns.stop
