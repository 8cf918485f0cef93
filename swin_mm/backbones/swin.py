"""Swin Transformer as the backbone of detectors and segmentors."""

from __future__ import annotations

import functools
from typing import Any

from swin_mm.backbones.arguments import (
    WindowSize,
    takes_arguments_of,
    understands_official_names,
    windows_by_stage,
)
from swin_mm.backbones.body import SwinBody
from swin_mm.backbones.checks import check_scale
from swin_mm.layers import AttentionFactory, WindowAttention
from swin_mm.registry import MODELS


@MODELS.register_module()
class SwinTransformer(SwinBody):
    """Swin Transformer (Liu et al. 2021), any input size in, feature maps of several strides out.

    Geometry comes from the input at call time: pictures are padded to whole patches, maps to whole
    windows. Semantics are those of the authors' detection code, arguments and parameter names
    those of ``mmdet.SwinTransformer``, whose checkpoints it reads and whose place it takes.

    Args:
        variant: ``'tiny'``, ``'small'``, ``'base'`` or ``'large'``: the paper's ``embed_dims``,
            ``depths`` and ``num_heads``. Those given beside it win; ``'tiny'`` stands for those
            given nowhere.
        pretrain_img_size: picture, or its height and width, that the absolute position embedding
            was learned on, px.
        in_channels: channels of the picture.
        embed_dims: channels of the first stage; each stage doubles them.
        patch_size: a patch, or its height and width, px.
        window_size: a window, or its height and width, or one of these a stage, tokens.
        mlp_ratio: channels between an FFN's layers by its channels.
        depths: blocks of each stage.
        num_heads: heads of each stage.
        strides: ``patch_size``, then tokens between merged tokens from stage to stage.
        out_indices: stages whose maps are returned. Later stages are not built.
        qkv_bias: whether queries, keys and values have a bias.
        qk_scale: factor of the scores, head channels ** -0.5 by default.
        patch_norm: whether patch embedding and merging have norms.
        drop_rate: dropout of tokens.
        attn_drop_rate: dropout of attention weights.
        drop_path_rate: chance to drop the last block's branches; grows linearly from 0.
        use_abs_pos_embed: add an absolute position embedding, interpolated to the picture.
        act_cfg: activation of the FFNs.
        norm_cfg: all norms.
        with_cp: keep only the blocks' inputs for the backward pass (non-reentrant).
        compile: run the backbone, and it alone, through ``torch.compile``, from the first forward
            pass on; a dict is its keywords, as ``dict(mode='max-autotune')``. Parameters keep
            their names.
        pretrained: deprecated; ``init_cfg=dict(type='Pretrained', checkpoint=...)``.
        convert_weights: not needed; layouts are recognised. Accepted with a note.
        frozen_stages: -1 none; 0 patch embedding; n also the first n stages, with their merging
            and norms (counts as MMDetection does). Holds from construction on.
        mask_padding: hide padded tokens from their windows. The published weights were trained
            with them in sight.
        small_maps: ``'shift'`` windows also along an axis with a single window, as the authors'
            detection code, or keep them ``'still'`` there, as torchvision.
        channels_last: return maps in channels-last strides, which saves a copy.
        init_cfg: MMEngine's initialisation; ``dict(type='Pretrained', checkpoint=...)`` reads a
            file or URL of any known layout.

    The official repositories' names (``embed_dim``, ``in_chans``, ``ape``, ``use_checkpoint``) are
    understood, with a note.

    Attributes:
        out_channels: channels of the returned maps, for necks and heads.
        out_strides: px from token to token of the returned maps; for oblong patches a pair each.
        num_features: channels of every stage.

    Raises:
        ValueError: if arguments contradict each other.
        TypeError: if an argument is unknown.
    """

    @understands_official_names
    @takes_arguments_of(SwinBody)
    def __init__(
        self, *, window_size: WindowSize = 7, qk_scale: float | None = None, **shared: Any
    ) -> None:
        check_scale(qk_scale)

        def attentions(num_stages: int) -> list[AttentionFactory]:
            return [
                functools.partial(WindowAttention, window_size=window, qk_scale=qk_scale)
                for window in windows_by_stage(window_size, num_stages)
            ]

        super().__init__(attentions, post_norm=False, **shared)
