"""The network that figures are drawn from: a config's, a weight file's, or a paper's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from swin_mm.backbones import SwinTransformer, SwinTransformerV2
from swin_mm.backbones.body import SwinBody
from swin_mm.backbones.variants import VARIANTS
from swin_mm.checkpoints import CheckpointError, describe, load_pretrained, read_checkpoint
from swin_mm.layers import SwinBlock
from swin_mm.visualization.errors import DrawingError

KINDS = {"SwinTransformer": SwinTransformer, "SwinTransformerV2": SwinTransformerV2}

# What pictures are normed with before a network of ImageNet's weights, RGB.
_MEAN, _STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)

# Of a config's backbone; they say how to start or to run it, not what it is.
_ASIDE = ("init_cfg", "pretrained", "convert_weights", "compile", "with_cp", "type")


@dataclass(frozen=True)
class Network:
    """A backbone, and how its pictures are normed.

    Attributes:
        backbone: in evaluation mode, on the CPU.
        name: what figures call it.
        weights: the file they are from; ``None`` if they are freshly drawn.
        mean: of the pictures' channels, in the network's order.
        std: of the same.
        takes_bgr: whether the network wants blue first.
    """

    backbone: SwinBody
    name: str
    weights: str | None = None
    mean: tuple[float, ...] = _MEAN
    std: tuple[float, ...] = _STD
    takes_bgr: bool = False

    def __str__(self) -> str:
        weights = "fresh weights" if self.weights is None else os.path.basename(self.weights)
        # A file's name may be no text, which no font draws.
        return f"{self.name}, {weights.encode(errors='backslashreplace').decode()}"

    def norm(self, pixels: np.ndarray) -> Tensor:
        """Bring a picture (H, W, 3) uint8 RGB to what the network takes, (1, 3, H, W).

        Raises:
            DrawingError: if the network takes pictures of other channels.
        """
        taken = self.backbone.patch_embed.projection.in_channels
        if taken != 3:
            raise DrawingError(
                f"a picture has 3 channels, this network takes {taken}; windows, shift, masks and "
                "bias need none"
            )
        pixels = pixels[..., ::-1] if self.takes_bgr else pixels
        normed = (pixels.astype(np.float32) - np.float32(self.mean)) / np.float32(self.std)
        weight = self.backbone.patch_embed.projection.weight
        return torch.from_numpy(normed.transpose(2, 0, 1)[None].copy()).to(weight)

    def block(self, stage: int, block: int) -> SwinBlock:
        """Find a block.

        Raises:
            DrawingError: if the network has none of these numbers.
        """
        stages = self.backbone.stages
        if not 0 <= stage < len(stages):
            raise DrawingError(
                f"--stage must be 0 to {len(stages) - 1}: {self.name} has {len(stages)} stages, "
                f"got {stage}"
            )
        blocks = stages[stage].blocks
        if not 0 <= block < len(blocks):
            depths = ", ".join(str(len(one.blocks)) for one in stages)
            raise DrawingError(
                f"--block must be 0 to {len(blocks) - 1} in stage {stage}, got {block}; the stages "
                f"of {self.name} have {depths} blocks"
            )
        return blocks[block]


def build_network(
    *,
    model: Mapping[str, Any] | None = None,
    variant: str | None = None,
    version: int = 1,
    checkpoint: str | None = None,
    window: int | None = None,
    unsafe: bool = False,
) -> Network:
    """Build a network: of a config's model, of a paper, or as a weight file says.

    Args:
        model: of a config; its ``backbone`` is built, by our classes, whichever project's name its
            type has, and ``data_preprocessor`` norms the pictures.
        variant: a paper's network.
        version: 1, or 2 for SwinV2, of that variant.
        checkpoint: a file or URL of any known layout, a backbone or a whole detector; ``None`` for
            fresh weights, drawn from a fixed seed.
        window: side of all windows, tokens, where neither config nor file says it.
        unsafe: run the code that the file wants to run.

    Raises:
        DrawingError: if that is no Swin, or too little to build one.
        CheckpointError: if the file cannot be read or does not fit.
    """
    content = None if checkpoint is None else read_checkpoint(checkpoint, unsafe=unsafe)
    if model is not None:
        kind, arguments = _of_config(model)
    elif variant is not None:
        if variant not in VARIANTS:
            raise DrawingError(f"--variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
        kind, arguments = ("SwinTransformerV2" if version == 2 else "SwinTransformer"), {}
        arguments["variant"] = variant
    elif content is not None:
        kind, arguments = _of_file(checkpoint, content, window=window)
    else:
        raise DrawingError("name a network: --config FILE, --checkpoint FILE or --variant tiny")
    if window is not None:
        arguments["window_size"] = window
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # fresh weights are the same each time
        try:
            backbone = KINDS[kind](**arguments)
        except (TypeError, ValueError, RuntimeError) as error:  # the last, if memory lacks
            first = str(error).partition("\n")[0]
            raise DrawingError(f"this network cannot be built: {first}") from error
    backbone.eval()
    if content is not None:
        load_pretrained(backbone, content)
    network = Network(backbone, _name_of(backbone, kind), checkpoint)
    return network if model is None else _normed_as(network, model.get("data_preprocessor"))


def _of_config(model: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    backbone = dict(model.get("backbone") or {})
    kind = backbone.get("type", "none")
    kind = kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__
    if kind not in KINDS:
        raise DrawingError(
            f"these are figures of a Swin; this config's backbone is {kind}, and must be one of "
            f"{', '.join(KINDS)}"
        )
    return kind, {name: value for name, value in backbone.items() if name not in _ASIDE}


def _of_file(
    checkpoint: str, content: Mapping, *, window: int | None
) -> tuple[str, dict[str, object]]:
    found = describe(content)
    if None in found.windows and window is None:
        raise CheckpointError(
            f"{checkpoint} does not say how large its windows are; say it by --window, or give "
            "the --config that it was trained with"
        )
    return ("SwinTransformerV2" if found.anatomy.version == 2 else "SwinTransformer"), dict(
        found.arguments()
    )


def _name_of(backbone: SwinBody, kind: str) -> str:
    family = "SwinV2" if kind.endswith("V2") else "Swin"
    depths = tuple(len(stage.blocks) for stage in backbone.stages)
    width = backbone.num_features[0]
    for name, variant in VARIANTS.items():
        if (width, depths) == (variant.embed_dims, variant.depths[: len(depths)]):
            return f"{family}-{name[0].upper()}"
    return f"{family} of {width} channels, {'-'.join(map(str, depths))} blocks"


def _normed_as(network: Network, preprocessor: Mapping[str, Any] | None) -> Network:
    said = preprocessor or {}
    if not said.get("mean"):
        return network
    mean, std = tuple(said["mean"]), tuple(said.get("std") or (1.0, 1.0, 1.0))
    return replace(network, mean=mean, std=std, takes_bgr=not said.get("bgr_to_rgb", False))
