"""Window attention of SwinV2: by cosine, with a bias that a network computes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.layers.plain import are_linear
from swin_mm.layers.position import ContinuousPositionBias
from swin_mm.ops.attention import attend_in_parts, scaled_cosines
from swin_mm.ops.attention.cosine import cosine_scale


class CosineWindowAttention(ContinuousPositionBias):
    """Multi-head attention among the tokens of a window by scaled cosine (Liu et al. 2022, eq. 2).

    It does for the second version what :class:`swin_mm.layers.WindowAttention` does for the first.

    Args:
        embed_dims: channels, C.
        num_heads: heads, nH; each has d = C / nH channels.
        window_size: height and width of a window, tokens.
        pretrained_window_size: of the windows that the weights were learned on, tokens; 0 for
            those of ``window_size``.
        qkv_bias: whether queries and values have a bias. Keys have none.
        attn_drop_rate: share of the attention weights to drop in training.
        proj_drop_rate: share of the output to drop in training.

    Attributes:
        logit_scale: log of what a head's cosines are multiplied with, (nH, 1, 1); log(10) at first.
    """

    def __init__(
        self,
        embed_dims: int,
        num_heads: int,
        *,
        window_size: tuple[int, int],
        pretrained_window_size: tuple[int, int] = (0, 0),
        qkv_bias: bool = True,
        attn_drop_rate: float = 0.0,
        proj_drop_rate: float = 0.0,
    ) -> None:
        super().__init__(
            window_size, num_heads=num_heads, pretrained_window_size=pretrained_window_size
        )
        self.num_heads = num_heads
        self.scale = 1.0
        self.logit_scale = nn.Parameter(torch.empty(num_heads, 1, 1))
        self.qkv = nn.Linear(embed_dims, 3 * embed_dims, bias=False)
        self.q_bias = nn.Parameter(torch.empty(embed_dims)) if qkv_bias else None
        self.v_bias = nn.Parameter(torch.empty(embed_dims)) if qkv_bias else None
        self.attn_drop = nn.Dropout(attn_drop_rate)
        self.proj = nn.Linear(embed_dims, embed_dims)
        self.proj_drop = nn.Dropout(proj_drop_rate)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set scales and biases to where training starts."""
        nn.init.constant_(self.logit_scale, math.log(10))
        if self.q_bias is not None:
            nn.init.zeros_(self.q_bias)
            nn.init.zeros_(self.v_bias)

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
        """Return the bias of queries, keys and values, (3 C,); that of keys is zero."""
        if self.q_bias is None:
            return None
        return torch.cat([self.q_bias, torch.zeros_like(self.q_bias), self.v_bias])

    def cosine_scale(self) -> Tensor:
        """Return what each head's cosines are multiplied with, (nH, 1, 1)."""
        return cosine_scale(self.logit_scale)

    def attend(self, x: Tensor, bias: Tensor, masks: Sequence[tuple[int, Tensor | None]]) -> Tensor:
        """Attend within windows of several masks; see :func:`attend_in_parts`."""
        q, k, v = self._project(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = scaled_cosines(q, k, self.logit_scale)
        dropout = self.attn_drop.p if self.attn_drop.training else 0.0
        x = attend_in_parts(q, k, v, bias=bias, masks=masks, scale=self.scale, dropout=dropout)
        return self.proj_drop(self.proj(x.transpose(1, 2).flatten(2)))

    def _project(self, x: Tensor) -> Tensor:
        """Make queries, keys and values of tokens (windows, N, C), (windows, N, 3 C)."""
        bias = self.qkv_bias()
        if are_linear([self.qkv]):
            return F.linear(x, self.qkv.weight, bias)
        qkv = self.qkv(x)
        return qkv if bias is None else qkv + bias.to(qkv.dtype)
