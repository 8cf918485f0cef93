"""A block of the network, and a stage of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from swin_mm.layers.attention import ShiftedWindowAttention, WindowAttention
from swin_mm.layers.patch import NormFactory, PatchMerging
from swin_mm.layers.stochastic_depth import DropPath
from swin_mm.ops.windows import SmallMaps

ActivationFactory = Callable[[], nn.Module]


class FFN(nn.Module):
    """Two linear layers with an activation between, token by token.

    ``layers.0.0`` and ``layers.1`` are the linear layers: MMCV's names.

    Args:
        embed_dims: channels, C.
        feedforward_channels: channels in between.
        activation: makes the activation.
        drop_rate: share to drop after each linear layer in training.
        drop_path_rate: chance to drop this branch, per picture, in training.
    """

    def __init__(
        self,
        embed_dims: int,
        feedforward_channels: int,
        *,
        activation: ActivationFactory,
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Sequential(
                nn.Linear(embed_dims, feedforward_channels), activation(), nn.Dropout(drop_rate)
            ),
            nn.Linear(feedforward_channels, embed_dims),
            nn.Dropout(drop_rate),
        )
        self.drop = DropPath(drop_path_rate)

    def forward(self, x: Tensor) -> Tensor:
        """Map normalised tokens (B, H, W, C) to what the block adds to its input, same shape."""
        return self.drop(self.layers(x))


@dataclass(frozen=True)
class BlockOptions:
    """What the blocks of a stage have in common.

    Attributes:
        window_size: height and width of a window, tokens.
        norm: makes a norm over C.
        activation: makes the FFN's activation.
        mlp_ratio: channels between the FFN's layers by C.
        qkv_bias: whether queries, keys and values have a bias.
        qk_scale: factor of the scores; d ** -0.5 where it is ``None``.
        drop_rate: share of tokens' channels to drop after each projection, in training.
        attn_drop_rate: share of the attention weights to drop, in training.
        mask_padding: whether padded tokens are hidden from their windows.
        small_maps: see :meth:`swin_mm.ops.WindowPlan.of`.
        with_cp: keep only a block's input for the backward pass and compute the rest again.
    """

    window_size: tuple[int, int]
    norm: NormFactory
    activation: ActivationFactory
    mlp_ratio: float = 4
    qkv_bias: bool = True
    qk_scale: float | None = None
    drop_rate: float = 0.0
    attn_drop_rate: float = 0.0
    mask_padding: bool = False
    small_maps: SmallMaps = "shift"
    with_cp: bool = False


class SwinBlock(nn.Module):
    """Attention, then FFN, each behind a norm and beside a residual (Liu et al. 2021, eq. 3).

    Args:
        embed_dims: channels, C.
        num_heads: heads of the attention, nH.
        options: what it shares with the other blocks of its stage.
        shifted: whether its windows are shifted by half a window.
        drop_path_rate: chance to drop each branch, per picture, in training.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        *,
        options: BlockOptions,
        shifted: bool = False,
        drop_path_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.with_cp = options.with_cp
        self.norm1 = options.norm(embed_dims)
        attention = WindowAttention(
            embed_dims,
            num_heads,
            window_size=options.window_size,
            qkv_bias=options.qkv_bias,
            qk_scale=options.qk_scale,
            attn_drop_rate=options.attn_drop_rate,
            proj_drop_rate=options.drop_rate,
        )
        self.attn = ShiftedWindowAttention(
            attention,
            shifted=shifted,
            drop_path_rate=drop_path_rate,
            mask_padding=options.mask_padding,
            small_maps=options.small_maps,
        )
        self.norm2 = options.norm(embed_dims)
        self.ffn = FFN(
            embed_dims,
            int(options.mlp_ratio * embed_dims),
            activation=options.activation,
            drop_rate=options.drop_rate,
            drop_path_rate=drop_path_rate,
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to tokens of the same shape."""
        if self.with_cp and torch.is_grad_enabled():
            return checkpoint(self._forward, x, use_reentrant=False)
        return self._forward(x)

    def _forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))


class SwinStage(nn.Module):
    """Blocks at one resolution, every second one shifted, and the way to the next resolution.

    Args:
        embed_dims: channels, C.
        num_heads: heads of the attention, nH.
        options: what the blocks have in common.
        drop_path_rates: chance to drop the branches, a number for each block.
        downsample: makes the next stage's map; ``None`` after the last stage.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        *,
        options: BlockOptions,
        drop_path_rates: Sequence[float],
        downsample: PatchMerging | None,
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            SwinBlock(
                embed_dims,
                num_heads,
                options=options,
                shifted=index % 2 == 1,
                drop_path_rate=rate,
            )
            for index, rate in enumerate(drop_path_rates)
        )
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to tokens of the same shape, before downsampling."""
        for block in self.blocks:
            x = block(x)
        return x
