"""Give a model's tensors what a file has for them, resizing where a rule exists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from swin_mm.checkpoints import resize
from swin_mm.checkpoints.coordinates import COORDINATES, compare_coordinates
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.report import Resized, times

TABLE, INDEX = "relative_position_bias_table", "relative_position_index"
BUFFERS = (INDEX, COORDINATES)
"""Ends of the names of what is no weight: a model makes its own from its windows."""

ResizeBias = Literal["bicubic", "geometric"]

# The model's arguments that decide whether a tensor exists, and those that decide its shape.
_EXISTENCE = (
    (r"absolute_pos_embed", "use_abs_pos_embed, pretrain_img_size"),
    (r"(patch_embed|.*downsample)\.norm\..*", "patch_norm"),
    (r".*(qkv\.|q_|v_)bias", "qkv_bias"),
)
_SHAPE = (
    (r"patch_embed\.projection\..*", "in_channels, patch_size"),
    (r".*ffn\..*", "mlp_ratio"),
)


@dataclass
class Fitted:
    """What a file gives to a model.

    Attributes:
        tensors: by our names, in the model's shapes.
        resized: which of them came for another window, picture or patch.
        reordered: which of them came in another shape, but of the same size.
        absent: our names of parameters and buffers that the file lacks.
        left: our names of what the model does not take.
    """

    tensors: dict[str, Tensor] = field(default_factory=dict)
    resized: list[Resized] = field(default_factory=list)
    reordered: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def fit(
    source: Mapping[str, Tensor],
    model: nn.Module,
    target: Mapping[str, Tensor],
    *,
    resize_bias: ResizeBias = "bicubic",
) -> Fitted:
    """Bring tensors of our names to a model's shapes.

    Buffers are no weights: the model's own stay.

    Args:
        source: the file's tensors.
        model: the backbone.
        target: its ``state_dict()``.
        resize_bias: how bias tables come to other windows.

    Raises:
        CheckpointError: if shapes differ where no rule exists, naming the argument that decides.
    """
    if resize_bias not in get_args(ResizeBias):
        raise CheckpointError(
            f"resize_bias must be one of {get_args(ResizeBias)}, got {resize_bias!r}"
        )
    fitted, misfits = Fitted(), []
    fitted.resized += compare_coordinates(source, model)
    for name, wanted in target.items():
        if name.endswith(BUFFERS):
            continue
        given = source.get(name)
        if given is None:
            fitted.absent.append(name)
        elif not is_weight(given):
            misfits.append(f"{name} is {'empty' if given.is_meta else given.dtype}")
        elif is_ready(name, source, target):
            fitted.tensors[name] = given
        elif (done := resize_to_fit(name, source, model, wanted, resize_bias)) is not None:
            fitted.tensors[name], how = done
            before, after = tuple(given.shape), tuple(wanted.shape)
            if how:
                fitted.resized.append(Resized(name, before, after, how))
            else:
                fitted.reordered.append(name)
        else:
            misfits.append(_misfit(name, given, wanted))
    if misfits:
        more = f"; and {len(misfits) - 4} more" if len(misfits) > 4 else ""
        raise CheckpointError(
            f"tensors must be numbers of the model's shapes: {'; '.join(misfits[:4])}{more}. "
            "Build the model as the file's was, or give another file"
        )
    fitted.left = [name for name in source if name not in target]
    return fitted


def is_weight(tensor: Tensor) -> bool:
    """Whether a tensor has numbers that a network computes with."""
    return tensor.is_floating_point() and tensor.layout is torch.strided and not tensor.is_meta


def is_ready(name: str, source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> bool:
    """Say whether a tensor can be taken as it is.

    Tables of windows 7 x 14 and 14 x 7 have the same shape; only their indices differ.
    """
    if source[name].shape != target[name].shape:
        return False
    index = name.removesuffix(TABLE) + INDEX
    if not name.endswith(TABLE) or index not in source or index not in target:
        return True
    theirs, ours = source[index], target[index]
    return theirs.is_meta or ours.is_meta or torch.equal(theirs.cpu(), ours.cpu())


def resize_to_fit(
    name: str,
    source: Mapping[str, Tensor],
    model: nn.Module,
    wanted: Tensor,
    resize_bias: ResizeBias = "bicubic",
) -> tuple[Tensor, str] | None:
    """Apply the rule for a tensor of another shape.

    Returns:
        The tensor in the model's shape and what was done to it, nothing if it kept its size; None
        if there is no rule.

    Raises:
        CheckpointError: if the window of a bias table cannot be told.
    """
    given = source[name]
    if given.dim() != wanted.dim() and name != "absolute_pos_embed":
        return None
    if not is_weight(given) or given.numel() == 0:
        return None
    if name.endswith(TABLE) and given.shape[1] == wanted.shape[1]:
        try:
            window = resize.window_of(given, source.get(name.removesuffix(TABLE) + INDEX))
        except CheckpointError as error:
            raise CheckpointError(f"{name}: {error}") from error
        target = _window_of_module(name, model, wanted)
        how = f"window {times(window)} -> {times(target)}"
        how += "" if resize_bias == "bicubic" else f", {resize_bias}"
        return resize.resize_bias_table(given, window, target, method=resize_bias), how
    if name == "absolute_pos_embed":
        return _fit_embedding(given, model, wanted)
    if name == "patch_embed.projection.weight":
        return _fit_patches(given, wanted)
    return None


def argument_for(name: str) -> str | None:
    """Name the model's arguments that decide whether a tensor exists, and its shape."""
    table = _EXISTENCE + _SHAPE
    return next((arguments for form, arguments in table if re.fullmatch(form, name)), None)


def is_optional(name: str) -> bool:
    """Say whether a fresh tensor does no harm where a file has none: a norm would."""
    return not name.endswith(("norm.weight", "norm.bias")) and any(
        re.fullmatch(form, name) for form, _ in _EXISTENCE
    )


def _window_of_module(name: str, model: nn.Module, table: Tensor) -> tuple[int, int]:
    owner = model.get_submodule(name.rpartition(".")[0])
    window = getattr(owner, "window_size", None)
    return tuple(window) if window else resize.window_of(table, getattr(owner, INDEX, None))


def _fit_embedding(given: Tensor, model: nn.Module, wanted: Tensor) -> tuple[Tensor, str] | None:
    if given.dim() not in (3, 4):
        return None
    embedding, grid = resize.flatten_position_embedding(given)
    target = getattr(model, "pretrain_grid", None)
    if target is None:
        target = resize.flatten_position_embedding(wanted)[1]
    if grid is None or target is None or embedding.shape[2] != wanted.shape[2]:
        return None
    how = "" if grid == target else f"position embedding {times(grid)} -> {times(target)}"
    return resize.resize_embedding(embedding, grid, target), how


def _fit_patches(given: Tensor, wanted: Tensor) -> tuple[Tensor, str] | None:
    if given.shape[0] != wanted.shape[0]:
        return None
    before, after, steps = given.shape[1], wanted.shape[1], []
    if before != after:
        if before != 3:
            return None
        given = resize.adapt_in_channels(given, after)
        steps.append(f"in_channels {before} -> {after}")
    if given.shape[2:] != wanted.shape[2:]:
        steps.append(f"patch {times(given.shape[2:])} -> {times(wanted.shape[2:])} px")
        given = resize.resize_patches(given, (wanted.shape[2], wanted.shape[3]))
    return given, ", ".join(steps)


def _misfit(name: str, given: Tensor, wanted: Tensor) -> str:
    shapes = f"{name} is {tuple(given.shape)}, the model's {tuple(wanted.shape)}"
    arguments = argument_for(name)
    return f"{shapes} ({arguments})" if arguments else shapes
