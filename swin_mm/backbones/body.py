"""What the versions of Swin Transformer share: all but what attends, and where the norms are."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from mmengine.logging import print_log
from mmengine.model import BaseModule
from torch import Tensor, nn

from swin_mm.backbones.arguments import as_pair, whole_numbers
from swin_mm.backbones.checks import (
    check_choices,
    check_compile,
    check_pictures,
    check_rates,
    check_sizes,
    check_stages,
    check_strides,
    check_switches,
    grid_of,
)
from swin_mm.backbones.compile import Compiled
from swin_mm.backbones.factories import activation_factory, norm_factory
from swin_mm.backbones.initialisation import draw_weights, obey_init_cfg
from swin_mm.backbones.pretrained import join_init_cfg
from swin_mm.backbones.variants import find_variant
from swin_mm.checkpoints import adapt_on_load, load_pretrained
from swin_mm.layers import AttentionFactory, BlockOptions, PatchEmbed, PatchMerging, SwinStage
from swin_mm.layers.norms import normed_map
from swin_mm.ops.position import resize_position_embedding
from swin_mm.ops.windows import SmallMaps


class SwinBody(BaseModule):
    """A Swin Transformer but for its attention: stages, outputs, freezing, weights in and out.

    Args:
        attentions: what makes the attention of each stage, given the number of stages.
        post_norm: where the norms are; see :class:`swin_mm.layers.SwinBlock`.

    All others are described at :class:`swin_mm.SwinTransformer`.
    """

    def __init__(
        self,
        attentions: Callable[[int], Sequence[AttentionFactory]],
        post_norm: bool,
        *,
        variant: str | None = None,
        pretrain_img_size: int | Sequence[int] = 224,
        in_channels: int = 3,
        embed_dims: int | None = None,
        patch_size: int | Sequence[int] = 4,
        mlp_ratio: float = 4,
        depths: Sequence[int] | None = None,
        num_heads: Sequence[int] | None = None,
        strides: Sequence[int] = (4, 2, 2, 2),
        out_indices: Sequence[int] = (0, 1, 2, 3),
        qkv_bias: bool = True,
        patch_norm: bool = True,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.1,
        use_abs_pos_embed: bool = False,
        act_cfg: Mapping = MappingProxyType({"type": "GELU"}),
        norm_cfg: Mapping = MappingProxyType({"type": "LN"}),
        with_cp: bool = False,
        compile: bool | Mapping[str, Any] = False,
        pretrained: str | None = None,
        convert_weights: bool | None = None,
        frozen_stages: int = -1,
        mask_padding: bool = False,
        small_maps: SmallMaps = "shift",
        channels_last: bool = False,
        init_cfg: Mapping | Sequence[Mapping] | None = None,
    ) -> None:
        super().__init__(init_cfg=join_init_cfg(init_cfg, pretrained, convert_weights))
        named = find_variant("tiny" if variant is None else variant)
        embed_dims = named.embed_dims if embed_dims is None else embed_dims
        depths = named.depths if depths is None else whole_numbers(depths, "depths")
        num_heads = named.num_heads if num_heads is None else whole_numbers(num_heads, "num_heads")
        patch = as_pair(patch_size, "patch_size")
        as_pair(pretrain_img_size, "pretrain_img_size")  # checked where nothing needs it, too
        check_sizes(embed_dims=embed_dims, in_channels=in_channels, mlp_ratio=mlp_ratio)
        check_rates(
            drop_rate=drop_rate, attn_drop_rate=attn_drop_rate, drop_path_rate=drop_path_rate
        )
        check_stages(embed_dims, depths=depths, num_heads=num_heads, out_indices=out_indices)
        check_strides(strides, patch=patch, num_stages=len(depths))
        check_choices(frozen_stages, num_stages=len(depths), small_maps=small_maps)
        check_switches(
            qkv_bias=qkv_bias,
            patch_norm=patch_norm,
            use_abs_pos_embed=use_abs_pos_embed,
            with_cp=with_cp,
            mask_padding=mask_padding,
            channels_last=channels_last,
        )
        options = check_compile(compile)
        self.compiled = None if options is None else Compiled(options)
        attentions = attentions(len(depths))
        norm, activation = norm_factory(norm_cfg), activation_factory(act_cfg)
        norm_of_patches = norm if patch_norm else None

        self.out_indices = tuple(sorted(out_indices))
        self.frozen_stages = frozen_stages
        self.channels_last = channels_last
        self.num_features = [embed_dims * 2**stage for stage in range(len(depths))]
        self.out_channels = [self.num_features[stage] for stage in self.out_indices]
        self.out_strides = [_stride_of(stage, patch, strides) for stage in self.out_indices]

        self.patch_embed = PatchEmbed(
            in_channels, embed_dims, patch_size=patch, norm=norm_of_patches
        )
        self.absolute_pos_embed = None
        if use_abs_pos_embed:
            self.pretrain_grid = grid_of(pretrain_img_size, patch)
            tokens = self.pretrain_grid[0] * self.pretrain_grid[1]
            self.absolute_pos_embed = nn.Parameter(torch.zeros(1, tokens, embed_dims))
        self.drop_after_pos = nn.Dropout(drop_rate)

        last_block = max(sum(depths) - 1, 1)
        rates = iter(drop_path_rate * block / last_block for block in range(sum(depths)))
        last_stage = self.out_indices[-1]
        self.stages = nn.ModuleList()
        for stage, channels in enumerate(self.num_features[: last_stage + 1]):
            options = BlockOptions(
                attention=functools.partial(
                    attentions[stage],
                    qkv_bias=qkv_bias,
                    attn_drop_rate=attn_drop_rate,
                    proj_drop_rate=drop_rate,
                ),
                norm=norm,
                activation=activation,
                post_norm=post_norm,
                mlp_ratio=mlp_ratio,
                drop_rate=drop_rate,
                mask_padding=mask_padding,
                small_maps=small_maps,
                with_cp=with_cp,
            )
            merging = None
            if stage < last_stage:
                merging = PatchMerging(
                    channels,
                    2 * channels,
                    stride=strides[stage + 1],
                    norm=norm_of_patches,
                    post_norm=post_norm,
                )
            self.stages.append(
                SwinStage(
                    channels,
                    num_heads[stage],
                    options=options,
                    drop_path_rates=list(itertools.islice(rates, depths[stage])),
                    downsample=merging,
                )
            )
        for stage in self.out_indices:
            self.add_module(f"norm{stage}", norm(self.num_features[stage]))

        say = functools.partial(print_log, logger="current")
        self.register_load_state_dict_pre_hook(functools.partial(adapt_on_load, log=say))
        self.draw_weights()
        self._freeze_stages()

    def forward(self, x: Tensor) -> list[Tensor]:
        """Compute the feature maps of a batch of pictures.

        Args:
            x: (B, in_channels, H, W), any H, W >= 1 px.

        Returns:
            A map for each of ``out_indices``, (B, C_i, H_i, W_i), where H_i and W_i are H and W
            divided by the strides one after the other, each time rounded up.

        Raises:
            ValueError: if x is not of that shape.
            TypeError: if x is no tensor, or of a dtype that the weights cannot meet.
        """
        check_pictures(x, self.patch_embed.projection.weight)
        if self.compiled is not None:
            return self.compiled(SwinBody._maps, self, x)
        return self._maps(x)

    def _maps(self, x: Tensor) -> list[Tensor]:
        """Compute the maps of pictures that were checked."""
        x = self.patch_embed(x)
        if self.absolute_pos_embed is not None:
            embedding = self.absolute_pos_embed
            size = (x.shape[1], x.shape[2])
            x = x + resize_position_embedding(embedding, self.pretrain_grid, size).to(x.dtype)
        x = self.drop_after_pos(x)
        maps = []
        for index, stage in enumerate(self.stages):
            x, merged = stage(x)
            if index in self.out_indices:
                norm = getattr(self, f"norm{index}")
                if self.channels_last:
                    maps.append(norm(x).permute(0, 3, 1, 2))
                else:
                    maps.append(normed_map(norm, x))
            x = merged
        return maps

    def init_weights(self) -> None:
        """Draw the weights anew, then do what ``init_cfg`` says.

        Raises:
            CheckpointError: if a pretrained file cannot be read or does not fit.
        """
        self.draw_weights()
        obey_init_cfg(self, load_pretrained)
        self._is_init = True

    def draw_weights(self) -> None:
        """Draw all weights anew; see :func:`swin_mm.backbones.initialisation.draw_weights`."""
        draw_weights(self)
        if self.absolute_pos_embed is not None:
            nn.init.trunc_normal_(self.absolute_pos_embed, std=0.02)

    def train(self, mode: bool = True) -> SwinBody:
        """Switch to training, but for what is frozen, which stays in evaluation."""
        super().train(mode)
        self._freeze_stages()
        return self

    def _freeze_stages(self) -> None:
        """Fix parameters, and keep in evaluation, what ``frozen_stages`` counts as frozen."""
        if self.frozen_stages < 0:
            return
        frozen = [self.patch_embed, self.drop_after_pos]
        if self.absolute_pos_embed is not None:
            self.absolute_pos_embed.requires_grad_(False)
        frozen += self.stages[: self.frozen_stages]
        frozen += [
            getattr(self, f"norm{stage}")
            for stage in self.out_indices
            if stage < self.frozen_stages
        ]
        for module in frozen:
            module.eval().requires_grad_(False)


def _stride_of(stage: int, patch: tuple[int, int], strides: Sequence[int]) -> int | tuple[int, int]:
    """Pixels from token to token of a stage; height and width where they differ."""
    height, width = (math.prod(strides[1 : stage + 1], start=side) for side in patch)
    return height if height == width else (height, width)
