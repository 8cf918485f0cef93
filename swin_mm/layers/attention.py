"""Window attention: within the windows of a map, plain or shifted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from swin_mm.layers.position import PositionBias, RelativePositionBias
from swin_mm.ops.attention import attend_in_parts
from swin_mm.ops.mask_cache import MASKS
from swin_mm.ops.masks import Region, regions, window_masks
from swin_mm.ops.windows import SmallMaps, WindowPlan, cut_windows, join_windows

AttentionFactory = Callable[[int, int], PositionBias]
"""Makes a :class:`WindowAttention`, or what stands for one, of C channels and nH heads."""


class WindowAttention(RelativePositionBias):
    """Multi-head attention among the tokens of a window, with relative position bias (eq. 4).

    It is a :class:`RelativePositionBias` with projections around it, rather than having one, so
    that its parameters bear the names of every published checkpoint.

    Args:
        embed_dims: channels, C.
        num_heads: heads, nH; each has d = C / nH channels.
        window_size: height and width of a window, tokens.
        qkv_bias: whether queries, keys and values have a bias.
        qk_scale: factor of the scores; d ** -0.5 where it is ``None``.
        attn_drop_rate: share of the attention weights to drop in training.
        proj_drop_rate: share of the output to drop in training.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        *,
        window_size: tuple[int, int],
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        attn_drop_rate: float = 0.0,
        proj_drop_rate: float = 0.0,
    ) -> None:
        super().__init__(window_size, num_heads=num_heads)
        self.num_heads = num_heads
        self.scale = (embed_dims // num_heads) ** -0.5 if qk_scale is None else qk_scale
        self.qkv = nn.Linear(embed_dims, 3 * embed_dims, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop_rate)
        self.proj = nn.Linear(embed_dims, embed_dims)
        self.proj_drop = nn.Dropout(proj_drop_rate)

    def forward(self, x: Tensor, bias: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend within windows (windows, N, C).

        Args:
            x: tokens by window.
            bias: what :meth:`bias` returns, (nH, N, N); made once for all windows of a map.
            mask: True where attention is allowed, (N, N) or one a window, (windows, 1, N, N).
        """
        return self.attend(x, bias, [(x.shape[0], mask)])

    def is_plain(self) -> bool:
        """Say whether it is made of linear layers and dropout, and of nothing else."""
        kinds = [type(one) for one in (self.qkv, self.proj, self.attn_drop, self.proj_drop)]
        return kinds == [nn.Linear, nn.Linear, nn.Dropout, nn.Dropout]

    def qkv_bias(self) -> Tensor | None:
        """Return the bias of queries, keys and values, (3 C,)."""
        return self.qkv.bias

    def cosine_scale(self) -> None:
        """Return ``None``: scores are products, which :attr:`scale` scales."""

    def attend(self, x: Tensor, bias: Tensor, masks: Sequence[tuple[int, Tensor | None]]) -> Tensor:
        """Attend within windows of several masks; see :func:`attend_in_parts`."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        dropout = self.attn_drop.p if self.attn_drop.training else 0.0
        x = attend_in_parts(q, k, v, bias=bias, masks=masks, scale=self.scale, dropout=dropout)
        return self.proj_drop(self.proj(x.transpose(1, 2).flatten(2)))


class ShiftedWindowAttention(nn.Module):
    """Attention over a map of any size: lay it out in windows, attend, put it back.

    Args:
        attention: works within the windows, a :class:`WindowAttention` or one of its kind.
        shifted: whether the windows are shifted by half a window.
        mask_padding: whether padded tokens are hidden; see :func:`swin_mm.ops.regions`.
        small_maps: see :meth:`swin_mm.ops.WindowPlan.of`.
    """

    def __init__(
        self,
        attention: PositionBias,
        *,
        shifted: bool,
        mask_padding: bool = False,
        small_maps: SmallMaps = "shift",
    ) -> None:
        super().__init__()
        self.shifted = shifted
        self.mask_padding = mask_padding
        self.small_maps = small_maps
        self.w_msa = attention

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (B, H, W, C) to tokens of the same shape."""
        plan = WindowPlan.of(
            (x.shape[1], x.shape[2]),
            self.w_msa.window_size,
            shifted=self.shifted,
            small_maps=self.small_maps,
        )
        laid_out, bias = plan.lay_out(x), self.w_msa.bias()
        attend = self._attend_at_once if torch.compiler.is_compiling() else self._attend_by_region
        return plan.take_back(attend(laid_out, bias, plan))

    def _attend_by_region(self, laid_out: Tensor, bias: Tensor, plan: WindowPlan) -> Tensor:
        """Attend in a laid-out map, region by region, each with its one mask."""
        grid = [
            [self._attend(laid_out, bias, region) for region in row]
            for row in regions(plan, mask_padding=self.mask_padding)
        ]
        strips = [row[0] if len(row) == 1 else torch.cat(row, dim=2) for row in grid]
        return strips[0] if len(strips) == 1 else torch.cat(strips, dim=1)

    def _attend_at_once(self, laid_out: Tensor, bias: Tensor, plan: WindowPlan) -> Tensor:
        """Attend in a laid-out map in one piece: the same, for compilers and exporters."""
        mask = None
        if plan.moves or self.mask_padding:
            mask = window_masks(plan, laid_out.device, mask_padding=self.mask_padding)
            mask = mask[:, None].repeat(laid_out.shape[0], 1, 1, 1)  # (B * nW, 1, N, N)
        windows = self.w_msa(cut_windows(laid_out, plan.window), bias, mask)
        return join_windows(windows, plan.window, plan.counts)

    def _attend(self, laid_out: Tensor, bias: Tensor, region: Region) -> Tensor:
        """Attend within the windows of one region of a laid-out map; returns that part of it."""
        (mh, mw), rows, columns = self.w_msa.window_size, region.rows, region.columns
        part = laid_out[:, rows.start * mh : rows.stop * mh, columns.start * mw : columns.stop * mw]
        mask = MASKS.mask(region, (mh, mw), laid_out)
        windows = self.w_msa(cut_windows(part, (mh, mw)), bias, mask)
        return join_windows(windows, (mh, mw), (rows.count, columns.count))
