"""The arguments that build the backbone of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from swin_mm.checkpoints.anatomy import Anatomy
from swin_mm.checkpoints.coordinates import Geometry
from swin_mm.checkpoints.resize import flatten_position_embedding

_FIRST = "stages.0.blocks.0."


def arguments_for(
    tensors: Mapping[str, Tensor], anatomy: Anatomy, windows: Sequence[Geometry | None]
) -> dict[str, object]:
    """Find the arguments of a backbone, those that are not the defaults.

    Args:
        tensors: the file's, our names.
        anatomy: its sizes.
        windows: of each stage; ``None`` where the file does not say.
    """
    return {
        **_sizes(anatomy),
        **_windows(anatomy.version, windows),
        **_patches(tensors, len(anatomy.depths)),
        **_outputs(tensors, len(anatomy.depths)),
        **_layers(tensors),
        **_positions(tensors),
    }


def _sizes(anatomy: Anatomy) -> dict[str, object]:
    heads = tuple(anatomy.num_heads.get(stage) for stage in range(len(anatomy.depths)))
    arguments = {"embed_dims": anatomy.embed_dims, "depths": anatomy.depths, "num_heads": heads}
    return {"variant": anatomy.variant} if anatomy.is_published else arguments


def _windows(version: int, windows: Sequence[Geometry | None]) -> dict[str, object]:
    if not windows or None in windows:
        return {}
    window = _shortest([entry.window for entry in windows])
    pretrained = _shortest([entry.pretrained for entry in windows])
    arguments = {} if window == (7 if version == 1 else 8) else {"window_size": window}
    if version == 2 and pretrained != window:
        arguments["pretrained_window_sizes"] = pretrained
    return arguments


def _patches(tensors: Mapping[str, Tensor], stages: int) -> dict[str, object]:
    arguments: dict[str, object] = {}
    channels, patch = 3, _patch_of(tensors)
    if (weight := tensors.get("patch_embed.projection.weight")) is not None and weight.dim() == 4:
        channels = weight.shape[1]
    side = _shortest([patch])
    if channels != 3:
        arguments["in_channels"] = channels
    if side != 4:
        arguments["patch_size"] = side
    if side != 4 or stages != 4:
        arguments["strides"] = (side, *[2] * (stages - 1))
    if "patch_embed.norm.weight" not in tensors:
        arguments["patch_norm"] = False
    return arguments


def _patch_of(tensors: Mapping[str, Tensor]) -> tuple[int, int]:
    weight = tensors.get("patch_embed.projection.weight")
    return (4, 4) if weight is None or weight.dim() != 4 else (weight.shape[2], weight.shape[3])


def _outputs(tensors: Mapping[str, Tensor], stages: int) -> dict[str, object]:
    norms = tuple(stage for stage in range(stages) if f"norm{stage}.weight" in tensors)
    if 1 < len(norms) < stages:
        return {"out_indices": norms}
    return {} if stages == 4 else {"out_indices": tuple(range(stages))}


def _layers(tensors: Mapping[str, Tensor]) -> dict[str, object]:
    arguments: dict[str, object] = {}
    if not any(f"{_FIRST}attn.w_msa.{name}" in tensors for name in ("qkv.bias", "q_bias")):
        arguments["qkv_bias"] = False
    ffn = tensors.get(f"{_FIRST}ffn.layers.0.0.weight")
    if ffn is not None and ffn.dim() == 2 and ffn.numel() and ffn.shape[0] != 4 * ffn.shape[1]:
        arguments["mlp_ratio"] = ffn.shape[0] / ffn.shape[1]
    return arguments


def _positions(tensors: Mapping[str, Tensor]) -> dict[str, object]:
    embedding = tensors.get("absolute_pos_embed")
    if embedding is None:
        return {}
    arguments: dict[str, object] = {"use_abs_pos_embed": True}
    _, grid = flatten_position_embedding(embedding) if embedding.dim() in (3, 4) else (None, None)
    if grid is not None:
        patch = _patch_of(tensors)
        arguments["pretrain_img_size"] = _shortest([(grid[0] * patch[0], grid[1] * patch[1])])
    return arguments


def _shortest(pairs: list[tuple[int, int]]) -> object:
    """Write windows of all stages as shortly as the arguments can be."""
    if len(set(pairs)) > 1 and len(pairs) == 2:  # two plain numbers would be height and width
        return tuple(pairs)
    plain = [height if height == width else (height, width) for height, width in pairs]
    return plain[0] if len(set(plain)) == 1 else tuple(plain)
