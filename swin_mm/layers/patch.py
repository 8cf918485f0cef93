"""From pixels to tokens, and from four tokens to one."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.layers.map_operators import merge_operator
from swin_mm.layers.norms import KERNEL_DTYPES, is_affine, may_be_operator, may_pass_by
from swin_mm.layers.plain import are_plain
from swin_mm.ops.calls import is_compiled_here, is_plain_call
from swin_mm.ops.kernels import NormTensors, merge_normed
from swin_mm.ops.products import asked_dtype, multiply, product_dtype
from swin_mm.ops.views import join_axes, split_axes

NormFactory = Callable[[int], nn.Module]


class PatchEmbed(nn.Module):
    """Turn every patch of a picture into a token (Liu et al. 2021, sec. 3.1).

    The picture is padded with zeros on the right and at the bottom to whole patches.

    Args:
        in_channels: channels of the picture.
        embed_dims: channels of a token, C.
        patch_size: height and width of a patch, px.
        norm: makes the norm over C; ``None`` for no norm.
    """

    def __init__(
        self,
        in_channels: int,
        embed_dims: int,
        *,
        patch_size: tuple[int, int],
        norm: NormFactory | None,
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Conv2d(in_channels, embed_dims, patch_size, stride=patch_size)
        self.norm = norm(embed_dims) if norm else None

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, in_channels, H, W) px to tokens (B, ceil(H / patch), ceil(W / patch), C)."""
        (height, width), (ph, pw) = x.shape[-2:], self.patch_size
        # By one rounding down each: tracers think long about remainders of negative sizes.
        bottom = (height + ph - 1) // ph * ph - height
        right = (width + pw - 1) // pw * pw - width
        if torch.compiler.is_compiling() or bottom or right:  # one traced graph serves both
            x = F.pad(x, (0, right, 0, bottom))
        widened = False
        if x.device.type == "cpu" and not torch.compiler.is_compiling():
            # Of a single column of patches oneDNN (torch 2.13) makes garbage in bfloat16.
            half = x.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
            widened = half and x.shape[-1] == pw
            x = F.pad(x, (0, pw)) if widened else x
            if is_plain_call(x):  # so it comes out as the tokens are wanted, and faster by half
                x = x.contiguous(memory_format=torch.channels_last)
        x = self._project(x).permute(0, 2, 3, 1)
        x = x[:, :, :1].contiguous() if widened else x
        return x if self.norm is None else self.norm(x)

    def _project(self, x: Tensor) -> Tensor:
        """Map (B, in_channels, H, W) to (B, C, H / patch, W / patch)."""
        conv = self.projection
        known = is_plain_call(x) or is_compiled_here(x)
        if type(conv) is nn.Conv2d and known and are_plain([conv], x):
            return multiply(conv._conv_forward, x, conv.weight, conv.bias)
        return conv(x)


class PatchMerging(nn.Module):
    """Make one token of every 2 x 2 neighbours (Liu et al. 2021, sec. 3.1).

    Channels are laid out as ``nn.Unfold`` does it, feature ``4 c + p`` for neighbour p of
    (0, 0), (0, 1), (1, 0), (1, 1): so the weights are MMDetection's. Microsoft's order differs.
    Made by slices, which export and trace at any size.

    Args:
        in_channels: channels of a token, C.
        out_channels: channels of a merged token, 2 C in the paper.
        stride: tokens from one merged token to the next, 2 in the paper; less overlaps.
        norm: makes the norm over 4 C; ``None`` for no norm.
        post_norm: norm the merged tokens instead, over ``out_channels`` (SwinV2).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        stride: int,
        norm: NormFactory | None,
        post_norm: bool = False,
    ) -> None:
        super().__init__()
        self.stride = stride
        self.post_norm = post_norm
        self.norm = norm(out_channels if post_norm else 4 * in_channels) if norm else None
        self.reduction = nn.Linear(4 * in_channels, out_channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, H, W, C) to (B, ceil(H / stride), ceil(W / stride), out_channels).

        The map is padded with zeros on the right and at the bottom, as far as the last 2 x 2 needs.
        """
        stride = self.stride
        if stride == 2 and self._can_run_kernels(x):
            return self._merge_by_kernels(x)
        if stride == 2 and self._can_be_operator(x):
            return self._merge_by_operator(x)
        # To whole strides; where neighbourhoods overlap, the last one needs one token more.
        bottom, right = (
            (side + stride - 1) // stride * stride - side if stride > 1 else 1
            for side in x.shape[1:3]
        )
        if torch.compiler.is_compiling() or bottom or right:  # one traced graph serves both
            x = F.pad(x, (0, 0, 0, right, 0, bottom))
        if stride == 2 and is_plain_call(x) and self._is_usual() and are_plain(self.children(), x):
            return self._merge_by_neighbour(x)
        if torch.compiler.is_compiling() and stride == 2:
            x = _by_twos(x)
        else:
            down, across = (side - 1 for side in x.shape[1:3])
            neighbours = [
                x[:, i : i + down : stride, j : j + across : stride] for i in (0, 1) for j in (0, 1)
            ]
            x = torch.stack(neighbours, dim=-1).flatten(-2)
        if self.norm is None:
            return self.reduction(x)
        return self.norm(self.reduction(x)) if self.post_norm else self.reduction(self.norm(x))

    def _merge_by_neighbour(self, x: Tensor) -> Tensor:
        """Do the same with channels one neighbour after the other, as the map has them in memory.

        To reorder the weights instead takes no time: the map's are copied in runs of C, not of 1.
        """
        batch, height, width, channels = x.shape
        x = x.reshape(batch, height // 2, 2, width // 2, 2, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height // 2, width // 2, 4 * channels)
        if self.norm is not None and not self.post_norm:
            affine = (_by_neighbour(t) for t in (self.norm.weight, self.norm.bias))
            x = F.layer_norm(x, (4 * channels,), *affine, self.norm.eps)
        return self._reduce_by_neighbour(x, asked_dtype(x))

    def _merge_by_kernels(self, x: Tensor) -> Tensor:
        """Merge and norm in one pass over the map, which need not be padded; then multiply."""
        batch, height, width, channels = x.shape
        size = (batch, (height + 1) // 2, (width + 1) // 2, 4 * channels)
        norm = None
        if self.norm is not None and not self.post_norm:
            affine = (_by_neighbour(t) for t in (self.norm.weight, self.norm.bias))
            norm = NormTensors.of(*affine, self.norm.eps)
        asked = asked_dtype(x)
        merged = x.new_empty(size, dtype=product_dtype(asked, x.device))
        merge_normed(x.contiguous(), merged, norm=norm)
        return self._reduce_by_neighbour(merged, asked)

    def _merge_by_operator(self, x: Tensor) -> Tensor:
        """Do the same in a graph of torch.compile."""
        asked, affine, eps = asked_dtype(x), [], 0.0
        if self.norm is not None and not self.post_norm:
            affine = [_by_neighbour(t) for t in (self.norm.weight, self.norm.bias)]
            eps = self.norm.eps
        layer = [_by_neighbour(self.reduction.weight), self.reduction.bias]
        layer = [one for one in layer if one is not None]
        x = merge_operator(x, affine, layer, eps, product_dtype(asked, x.device), asked)
        return x if self.norm is None or not self.post_norm else self.norm(x)

    def _reduce_by_neighbour(self, x: Tensor, asked: torch.dtype) -> Tensor:
        """Map (..., 4 C), one neighbour after the other, to (..., out_channels) of a dtype."""
        layer = self.reduction
        x = multiply(F.linear, x, _by_neighbour(layer.weight), layer.bias, asked=asked)
        return x if self.norm is None or not self.post_norm else self.norm(x)

    def _can_run_kernels(self, x: Tensor) -> bool:
        return may_pass_by(x, *self.children()) and self._suits_kernels(x)

    def _can_be_operator(self, x: Tensor) -> bool:
        return may_be_operator(x, *self.children()) and self._suits_kernels(x)

    def _suits_kernels(self, x: Tensor) -> bool:
        first = None if self.post_norm else self.norm
        return (
            product_dtype(asked_dtype(x), x.device) in KERNEL_DTYPES
            and self._is_usual()
            and (first is None or is_affine(first, 4 * x.shape[-1]))
        )

    def _is_usual(self) -> bool:
        """Say whether its modules are of the paper's kinds."""
        return type(self.reduction) is nn.Linear and type(self.norm) in (nn.LayerNorm, type(None))


def _by_twos(x: Tensor) -> Tensor:
    """Lay 2 x 2 neighbours behind each other, (B, H, W, C) to (B, H / 2, W / 2, 4 C).

    By views alone: the lengths of slices are new unknowns to a tracer that does not know the size.
    """
    batch, height, width, channels = x.shape
    x = split_axes(x, (batch, height // 2, 2, width // 2, 2, channels)).permute(0, 1, 3, 5, 2, 4)
    return join_axes(x, (batch, height // 2, width // 2, 4 * channels))


def _by_neighbour(weight: Tensor | None) -> Tensor | None:
    """Reorder the last dimension from feature 4 c + p to feature p C + c."""
    if weight is None:
        return None
    return weight.unflatten(-1, (-1, 4)).transpose(-1, -2).flatten(-2)
