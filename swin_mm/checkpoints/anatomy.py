"""Read a network's sizes off its tensors, and say in words where two networks differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from swin_mm.checkpoints.errors import CheckpointError, OtherNetworkError

_BLOCK = re.compile(r"stages\.(\d{1,6})\.blocks\.(\d{1,6})\.")
_MOST_STAGES = 64
_TABLE = re.compile(r"stages\.(\d+)\.blocks\.0\.attn\.w_msa\.relative_position_bias_table")
_SCALE = re.compile(r"stages\.(\d+)\.blocks\.0\.attn\.w_msa\.logit_scale")

# First channels and depth of stage 2 of the papers' networks (Liu et al. 2021, sec. 3.3).
_KNOWN = {(96, 6): "tiny", (96, 18): "small", (128, 18): "base", (192, 18): "large"}


@dataclass(frozen=True)
class Anatomy:
    """The sizes of a Swin.

    Attributes:
        version: 1, or 2 for SwinV2.
        embed_dims: channels of the first stage; None if its tensors do not tell.
        depths: blocks of each stage.
        num_heads: heads of each stage, for stages that tell.
        patch_dimensions: of the patch convolution's weight, 4 for pictures, 5 for video.
    """

    version: int
    embed_dims: int | None
    depths: tuple[int, ...]
    num_heads: Mapping[int, int]
    patch_dimensions: int = 4

    @property
    def known_as(self) -> str | None:
        """The published network of these sizes, if there is one."""
        return self.variant and f"{self.family}-{self.variant[0].upper()}"

    @property
    def variant(self) -> str | None:
        """What the backbones' ``variant=`` calls a published network."""
        return _KNOWN.get((self.embed_dims, self.depths[2])) if len(self.depths) > 2 else None

    @property
    def is_published(self) -> bool:
        """Whether all sizes are a published network's."""
        if self.variant is None or len(self.depths) != 4:
            return False
        heads = tuple(self.num_heads.get(stage) for stage in range(4))
        wanted = tuple(self.embed_dims * 2**stage // 32 for stage in range(4))
        return heads == wanted and (*self.depths[:2], self.depths[3]) == (2, 2, 2)

    @property
    def family(self) -> str:
        """What the papers call the network."""
        return "Swin" if self.version == 1 else "SwinV2"


def anatomy_of(tensors: Mapping[str, Tensor]) -> Anatomy:
    """Read the sizes off tensors that bear our names.

    Raises:
        CheckpointError: if there are too many stages to be true.
    """
    depths: dict[int, int] = {}
    heads: dict[int, int] = {}
    version = 1
    for name, tensor in tensors.items():
        if found := _BLOCK.match(name):
            stage, block = map(int, found.groups())
            depths[stage] = max(block + 1, depths.get(stage, 0))
        if (found := _TABLE.fullmatch(name)) and tensor.dim() == 2:
            heads[int(found[1])] = tensor.shape[-1]
        if found := _SCALE.fullmatch(name):
            version, heads[int(found[1])] = 2, tensor.numel()
    if max(depths, default=0) >= _MOST_STAGES:
        raise CheckpointError(
            f"a Swin must have fewer than {_MOST_STAGES} stages, the file's names speak of stage "
            f"{max(depths)}. Is it damaged?"
        )
    patches = tensors.get("patch_embed.projection.weight")
    return Anatomy(
        version=version,
        embed_dims=patches.shape[0] if patches is not None and patches.dim() == 4 else None,
        depths=tuple(depths.get(stage, 0) for stage in range(max(depths, default=-1) + 1)),
        num_heads=heads,
        patch_dimensions=4 if patches is None else patches.dim(),
    )


def check_same_network(theirs: Anatomy, ours: Anatomy) -> None:
    """Refuse a file of another network; stages that the model does not build may be there.

    Raises:
        OtherNetworkError: naming each size that differs.
    """
    if theirs.patch_dimensions == 5:
        raise OtherNetworkError(
            "checkpoint is a Swin over video, its patches have 5 dimensions. Give one over pictures"
        )
    if theirs.version != ours.version:
        raise OtherNetworkError(
            f"checkpoint is a {theirs.family}, the model a {ours.family}. Build "
            f"swin_mm.SwinTransformer{'V2' if theirs.version == 2 else ''}, or give another file"
        )
    differences = []
    if None not in (theirs.embed_dims, ours.embed_dims) and theirs.embed_dims != ours.embed_dims:
        differences.append(f"{theirs.embed_dims} channels in stage 0, the model {ours.embed_dims}")
    if len(theirs.depths) < len(ours.depths):
        differences.append(f"{len(theirs.depths)} stages, the model {len(ours.depths)}")
    pairs = zip(theirs.depths, ours.depths, strict=False)
    for stage, (depth, wanted) in enumerate(pairs):
        if depth != wanted:
            differences.append(f"depth {depth} in stage {stage}, the model {wanted}")
    for stage, wanted in ours.num_heads.items():
        heads = theirs.num_heads.get(stage, wanted)
        if heads != wanted:
            differences.append(f"{heads} heads in stage {stage}, the model {wanted}")
    if not differences:
        return
    name = theirs.known_as
    raise OtherNetworkError(
        f"checkpoint has {'; '.join(differences)}"
        + (f": is this {name}?" if name and name != ours.known_as else ".")
        + " Build the model with the embed_dims, depths and num_heads of the file"
        + f" (depths={theirs.depths}), or give a file of the model's"
    )
