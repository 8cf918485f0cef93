"""Swin Transformer V2: only what differs."""

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
from swin_mm.layers import AttentionFactory, CosineWindowAttention
from swin_mm.registry import MODELS


@MODELS.register_module()
class SwinTransformerV2(SwinBody):
    """Swin Transformer V2 (Liu et al. 2022): scales to larger networks, pictures and windows.

    Three things differ from :class:`swin_mm.SwinTransformer`: scores are cosines times a learned
    factor, no larger than 100; the position bias comes from a small network over log-spaced
    offsets, so that weights serve windows of other sizes; and norms come last in their branches,
    and in patch merging, rather than first. Fresh blocks start as identities, as the authors' do.

    Args:
        window_size: a window, or its height and width, or one of these a stage, tokens.
        pretrained_window_sizes: of the windows that the weights were learned on, written as
            ``window_size`` is; 0 stands for that of ``window_size``. The authors' networks for
            larger windows, learned on windows of 12, have ``(12, 12, 12, 6)``.
        qkv_bias: whether queries and values have a bias; keys have none.
        qk_scale: only ``None``, which configs of the first version say; a learned factor takes its
            place.

    All other arguments are those of :class:`swin_mm.SwinTransformer`. Variants, attributes and
    errors are the same too.
    """

    @understands_official_names
    @takes_arguments_of(SwinBody)
    def __init__(
        self,
        *,
        window_size: WindowSize = 8,
        pretrained_window_sizes: WindowSize = 0,
        qk_scale: None = None,
        **shared: Any,
    ) -> None:
        if qk_scale is not None:
            raise ValueError(
                "SwinV2 scales its scores by logit_scale, which it learns; leave qk_scale out, got "
                f"qk_scale={qk_scale!r}"
            )

        def attentions(num_stages: int) -> list[AttentionFactory]:
            windows = windows_by_stage(window_size, num_stages)
            learned = windows_by_stage(
                pretrained_window_sizes, num_stages, name="pretrained_window_sizes", least=0
            )
            return [
                functools.partial(
                    CosineWindowAttention, window_size=window, pretrained_window_size=before
                )
                for window, before in zip(windows, learned, strict=True)
            ]

        super().__init__(attentions, post_norm=True, **shared)
