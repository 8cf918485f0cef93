"""A block of the network, and a stage of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from swin_mm.layers.attention import AttentionFactory, ShiftedWindowAttention
from swin_mm.layers.block_operator import can_be_operator, run_as_operator
from swin_mm.layers.chunked import can_run_by_chunks, run_by_chunks
from swin_mm.layers.ffn import FFN, ActivationFactory
from swin_mm.layers.patch import NormFactory, PatchMerging
from swin_mm.layers.stochastic_depth import DropPath
from swin_mm.ops.block import BlockWeights, LinearWeights, NormWeights
from swin_mm.ops.windows import SmallMaps


@dataclass(frozen=True)
class BlockOptions:
    """What the blocks of a stage have in common.

    Attributes:
        attention: makes the attention of C channels and nH heads within windows.
        norm: makes a norm over C.
        activation: makes the FFN's activation.
        post_norm: norm what a branch gives rather than what it takes (SwinV2).
        mlp_ratio: channels between the FFN's layers by C.
        drop_rate: share of tokens' channels to drop after the FFN's layers, in training.
        mask_padding: whether padded tokens are hidden from their windows.
        small_maps: see :meth:`swin_mm.ops.WindowPlan.of`.
        with_cp: keep only a block's input for the backward pass and compute the rest again.
    """

    attention: AttentionFactory
    norm: NormFactory
    activation: ActivationFactory
    post_norm: bool = False
    mlp_ratio: float = 4
    drop_rate: float = 0.0
    mask_padding: bool = False
    small_maps: SmallMaps = "shift"
    with_cp: bool = False


class SwinBlock(nn.Module):
    """Attention, then FFN, each with a norm and beside a residual.

    The norm comes first in the branch (Liu et al. 2021, eq. 3), or last (Liu et al. 2022, fig. 1),
    where it keeps the branches of deep networks from growing. What is dropped is the whole branch.

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
        self.post_norm = options.post_norm
        self.norm1 = options.norm(embed_dims)
        self.attn = ShiftedWindowAttention(
            options.attention(embed_dims, num_heads),
            shifted=shifted,
            mask_padding=options.mask_padding,
            small_maps=options.small_maps,
        )
        self.norm2 = options.norm(embed_dims)
        self.ffn = FFN(
            embed_dims,
            int(options.mlp_ratio * embed_dims),
            activation=options.activation,
            drop_rate=options.drop_rate,
        )
        self.drop = DropPath(drop_path_rate)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to tokens of the same shape."""
        run = self._short_cut(x)
        if run is not None:
            first, second = (self.drop.factors(x.shape[0], x.device) for _ in range(2))
            return run(self, x, None if first is None else (first, second))
        if self.with_cp and torch.is_grad_enabled():
            return checkpoint(self._forward, x, use_reentrant=False)
        return self._forward(x)

    def _short_cut(self, x: Tensor) -> Callable[..., Tensor] | None:
        """Choose what does all of a plain block at once, if anything does."""
        if type(self) is not SwinBlock:
            return None
        if can_run_by_chunks(self, x):
            return run_by_chunks
        return run_as_operator if can_be_operator(self, x) else None

    def weights(self) -> BlockWeights:
        """Return what the block has learned, as tensors that its gradient reaches."""
        attention, ((fc1, *_), fc2, _) = self.attn.w_msa, self.ffn.layers
        return BlockWeights(
            norm1=NormWeights(self.norm1.weight, self.norm1.bias, self.norm1.eps),
            qkv=LinearWeights(attention.qkv.weight, attention.qkv_bias()),
            proj=LinearWeights(attention.proj.weight, attention.proj.bias),
            norm2=NormWeights(self.norm2.weight, self.norm2.bias, self.norm2.eps),
            fc1=LinearWeights(fc1.weight, fc1.bias),
            fc2=LinearWeights(fc2.weight, fc2.bias),
            bias=attention.bias(),
            cosine_scale=attention.cosine_scale(),
            scale=attention.scale,
            post_norm=self.post_norm,
        )

    def _forward(self, x: Tensor) -> Tensor:
        if self.post_norm:
            x = x + self.drop(self.norm1(self.attn(x)))
            return x + self.drop(self.norm2(self.ffn(x)))
        x = x + self.drop(self.attn(self.norm1(x)))
        return x + self.drop(self.ffn(self.norm2(x)))


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

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """Go through the blocks, and on to the next resolution.

        All of a stage is called here: FSDP gathers what a module holds for its call alone.

        Args:
            x: tokens, (B, H, W, C).

        Returns:
            Tokens of the same shape, and what the next stage takes, ``None`` after the last.
        """
        for block in self.blocks:
            x = block(x)
        return x, None if self.downsample is None else self.downsample(x)
