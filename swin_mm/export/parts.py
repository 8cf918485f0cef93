"""What of a model is exported, as a network from one tensor to tensors."""

from __future__ import annotations

from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from swin_mm.backbones.body import SwinBody
from swin_mm.export.description import Description, Part, Pixels
from swin_mm.export.errors import ExportError

PARTS: tuple[Part, ...] = get_args(Part)


class Features(nn.Module):
    """A backbone with its neck.

    Args:
        backbone: from pictures to maps.
        neck: from maps to maps.
    """

    def __init__(self, backbone: nn.Module, neck: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.neck = neck

    def forward(self, pictures: Tensor) -> list[Tensor]:
        """Map normalised pictures (B, C, H, W) to maps (B, C_i, H_i, W_i)."""
        return list(self.neck(self.backbone(pictures)))


class Segmentor(nn.Module):
    """A segmentor of MMSegmentation's from pixels to logits, without what trains it.

    Args:
        model: an ``EncoderDecoder``.
        pixels: how it normalises.
    """

    def __init__(self, model: nn.Module, pixels: Pixels) -> None:
        super().__init__()
        self.backbone = model.backbone
        self.neck = model.neck if model.with_neck else None
        self.head = model.decode_head
        self.align_corners = model.align_corners
        parameter = next(model.parameters())
        for name in ("mean", "std"):
            values = parameter.new_tensor(getattr(pixels, name))
            self.register_buffer(name, values[:, None, None])

    def forward(self, pixels: Tensor) -> Tensor:
        """Map pixels (B, C, H, W), 0 to 255, to logits (B, classes, H, W)."""
        maps = self.backbone((pixels - self.mean) / self.std)
        maps = maps if self.neck is None else self.neck(maps)
        return F.interpolate(
            self.head(maps),
            size=pixels.shape[2:],
            mode="bilinear",
            align_corners=self.align_corners,
        )


def take_part(model: nn.Module, part: Part, *, pixels: Pixels | None = None) -> nn.Module:
    """Take the backbone, the backbone with its neck, or the whole of a segmentor.

    Args:
        model: a detector or segmentor on a backbone of ours.
        part: which part.
        pixels: how a whole model normalises.

    Raises:
        ExportError: if there is no such part, or it cannot be exported.
    """
    if part not in PARTS:
        raise ExportError(f"a part is one of {', '.join(PARTS)}, got {part!r}")
    backbone = getattr(model, "backbone", None)
    if not isinstance(backbone, SwinBody):
        raise ExportError(
            "what is exported is built on a backbone of swin_mm, got "
            f"{type(backbone).__name__}: set model.backbone.type=swin_mm.SwinTransformer"
        )
    if part == "backbone":
        return backbone.eval()
    if part == "neck":
        neck = getattr(model, "neck", None)
        if neck is None:
            raise ExportError("this model has no neck: export --part backbone")
        return Features(backbone, neck).eval()
    _require_segmentor(model)
    return Segmentor(model, pixels or Pixels.of({})).eval()


def describe(
    network: nn.Module, part: Part, pixels: Pixels | None, *, classes: tuple[str, ...] = ()
) -> Description:
    """Say what a network is.

    Args:
        network: what :func:`take_part` gave.
        part: of which model it is.
        pixels: how pictures are normalised.
        classes: names of a segmentor's logits.

    Raises:
        ExportError: if the backbone's maps are not what the neck takes.
    """
    if part == "model":
        return Description(
            part, ("logits",), (1,), pixels or Pixels.of({}), normalises=True, classes=classes
        )
    if part == "backbone":
        outputs = tuple(f"map{stage}" for stage in network.out_indices)
        return Description(part, outputs, tuple(network.out_strides), pixels)
    channels = network.backbone.patch_embed.projection.in_channels
    try:
        with torch.no_grad():  # not every neck says how many maps it returns
            levels = len(network(torch.zeros(1, channels, 64, 64)))
    except Exception as error:  # it is the host's
        first = str(error).strip().partition("\n")[0]
        raise ExportError(f"the backbone and its neck do not run together: {first}") from error
    return Description(part, tuple(f"map{level}" for level in range(levels)), (), pixels)


def _require_segmentor(model: nn.Module) -> None:
    """Check that a model is a backbone, perhaps a neck, and a head from maps to logits."""
    if not hasattr(model, "decode_head"):
        raise ExportError(
            f"a whole detector ({type(model).__name__}) is not exported: choosing and ordering "
            "boxes is the host's own code. Export --part neck and run the heads on its maps"
        )
    from mmseg.models.decode_heads.decode_head import BaseDecodeHead
    from mmseg.models.segmentors import EncoderDecoder

    kind = type(model)
    is_plain = isinstance(model, EncoderDecoder) and all(
        getattr(kind, name) is getattr(EncoderDecoder, name)
        for name in ("extract_feat", "encode_decode")
    )
    if not is_plain or not isinstance(model.decode_head, BaseDecodeHead):
        raise ExportError(
            "whole segmentors are exported where one head gives logits for every pixel, as UPerNet "
            f"and Semantic FPN, not {kind.__name__} with {type(model.decode_head).__name__}: "
            "export --part backbone"
        )
    if getattr(model.data_preprocessor, "test_cfg", None):
        raise ExportError(
            "this config pads pictures in its tests (model.data_preprocessor.test_cfg), which is "
            "not exported: --cfg-options model.data_preprocessor.test_cfg=None"
        )
