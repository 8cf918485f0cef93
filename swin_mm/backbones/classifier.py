"""The whole classification network: it is what published ImageNet weights are checked with."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmengine.model import BaseModule
from torch import Tensor, nn

from swin_mm.backbones.arguments import (
    is_whole,
    takes_arguments_of,
    understands_official_names,
    whole_numbers,
)
from swin_mm.backbones.initialisation import draw_weights, obey_init_cfg
from swin_mm.backbones.pretrained import join_init_cfg
from swin_mm.backbones.swin import SwinTransformer
from swin_mm.backbones.swin_v2 import SwinTransformerV2
from swin_mm.backbones.variants import find_variant
from swin_mm.checkpoints import load_classifier
from swin_mm.registry import MODELS

VERSIONS = {1: SwinTransformer, 2: SwinTransformerV2}

# A classifier has one output, and its files are read as a whole.
_DECIDED = ("out_indices", "small_maps", "channels_last", "pretrained", "convert_weights")


@MODELS.register_module()
class SwinClassifier(BaseModule):
    """Swin Transformer with a final norm, the mean over all tokens, and a linear head.

    Pictures of any size come in. Along an axis with a single window, windows are not shifted
    (``small_maps='still'``): torchvision's rule, and at a network's own square sizes that of all
    published classifiers. Microsoft's and timm's also make windows smaller where a map is. Their
    networks of window 16 at 256 px so have windows of 8 in the last stage: say
    ``window_size=(16, 16, 16, 8)``. Parameters are named as in MMPretrain, ``backbone`` and
    ``head.fc``.

    Args:
        version: 1 for :class:`swin_mm.SwinTransformer`, 2 for :class:`swin_mm.SwinTransformerV2`.
        variant: ``'tiny'``, ``'small'``, ``'base'`` or ``'large'``.
        window_size: a window, or its height and width, or one of these a stage, tokens; 7 in the
            first version, 8 in the second.
        num_classes: of the head.
        in_channels: channels of the picture.
        drop_path_rate: chance to drop the last block's branches; grows linearly from 0.
        pretrained_window_sizes: of the second version; see :class:`swin_mm.SwinTransformerV2`.
        init_cfg: MMEngine's initialisation; ``dict(type='Pretrained', checkpoint=...)`` reads a
            file or URL of any known layout, head included.

    Other arguments are the backbone's: ``embed_dims``, ``depths``, ``num_heads``, ``patch_size``
    and so on.

    Raises:
        ValueError: if arguments contradict each other.
        TypeError: if an argument is unknown, or the other version's.
    """

    @understands_official_names
    @takes_arguments_of(SwinTransformer, SwinTransformerV2, without=_DECIDED)
    def __init__(
        self,
        *,
        version: Literal[1, 2] = 1,
        num_classes: int = 1000,
        init_cfg: Mapping | Sequence[Mapping] | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(init_cfg=join_init_cfg(init_cfg, None, None))
        if not is_whole(version, 1) or version not in VERSIONS:
            raise ValueError(f"version must be 1 or 2, got {version!r}")
        if not is_whole(num_classes, 1):
            raise ValueError(
                f"num_classes must be a whole number >= 1, got {num_classes!r}; for feature maps "
                f"without a head use swin_mm.{VERSIONS[version].__name__}"
            )
        strays = shared.keys() - inspect.signature(VERSIONS[version]).parameters.keys()
        if strays:
            raise TypeError(
                f"{', '.join(sorted(strays))} can be given with version={3 - version} only, got "
                f"version={version}"
            )
        depths, variant = shared.get("depths"), shared.get("variant")
        if depths is None:
            depths = find_variant("tiny" if variant is None else variant).depths
        last = len(whole_numbers(depths, "depths")) - 1
        self.backbone = VERSIONS[version](
            **shared, out_indices=(last,), small_maps="still", channels_last=True
        )
        linear = nn.Linear(self.backbone.out_channels[0], num_classes)
        self.head = nn.Sequential(OrderedDict(fc=linear))
        draw_weights(self.head)

    def forward(self, x: Tensor) -> Tensor:
        """Classify a batch of pictures.

        Args:
            x: (B, in_channels, H, W), any H, W >= 1 px.

        Returns:
            Scores of the classes before softmax, (B, num_classes).

        Raises:
            ValueError: if x is not of that shape.
        """
        (features,) = self.backbone(x)
        return self.head(features.mean(dim=(2, 3)))

    def init_weights(self) -> None:
        """Draw the weights anew, then do what ``init_cfg`` says.

        Raises:
            CheckpointError: if a pretrained file cannot be read or does not fit.
        """
        self.backbone.draw_weights()
        draw_weights(self.head)
        obey_init_cfg(self, load_classifier)
        self._is_init = True
