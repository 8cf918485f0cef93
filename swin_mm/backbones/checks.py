"""What the backbone's arguments and its input must obey: the rule, the numbers met, the cure."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, get_args

import torch
from torch import Tensor, nn

from swin_mm.backbones.arguments import as_pair, is_whole
from swin_mm.ops.windows import SmallMaps


def check_stages(
    embed_dims: int, *, depths: Sequence[int], num_heads: Sequence[int], out_indices: Sequence[int]
) -> None:
    """Check that the numbers of the stages fit each other.

    Raises:
        ValueError: if they do not.
    """
    if not depths or len(num_heads) != len(depths):
        raise ValueError(
            f"depths and num_heads must have a number for each stage, got {len(depths)} depths "
            f"{tuple(depths)} and {len(num_heads)} heads {tuple(num_heads)}"
        )
    for stage, heads in enumerate(num_heads):
        channels = embed_dims * 2**stage
        if heads < 1 or channels % heads:
            raise ValueError(
                f"num_heads must divide the channels of their stage: stage {stage} has "
                f"{channels} channels (embed_dims {embed_dims} * 2**{stage}) and {heads} heads"
            )
    listed = isinstance(out_indices, Sequence) and len(out_indices) > 0
    if not listed or not all(is_whole(one, 0) and one < len(depths) for one in out_indices):
        raise ValueError(
            f"out_indices must name stages from 0 to {len(depths) - 1}, got {out_indices!r}"
        )
    if len(set(out_indices)) != len(out_indices):
        raise ValueError(f"out_indices must name each stage once, got {tuple(out_indices)}")


def check_strides(strides: Sequence[int], *, patch: tuple[int, int], num_stages: int) -> None:
    """Check that patches do not overlap and every stage has its stride.

    Raises:
        ValueError: if not.
    """
    if not isinstance(strides, Sequence) or len(strides) != num_stages:
        raise ValueError(
            f"strides must have a number for each of the {num_stages} stages, got {strides!r}"
        )
    if as_pair(strides[0], "strides[0]") != patch:
        raise ValueError(
            f"strides[0] must equal patch_size, since patches do not overlap: got {strides[0]} and "
            f"{patch[0]} x {patch[1]}; give strides=({patch[0]}, ...)"
        )
    if not all(is_whole(stride, 1) for stride in strides[1:]):
        raise ValueError(f"strides of merging must be whole numbers >= 1, got {tuple(strides[1:])}")


def check_choices(frozen_stages: int, *, num_stages: int, small_maps: str) -> None:
    """Check the arguments that choose among a few.

    Raises:
        ValueError: if one chooses something else.
    """
    if not is_whole(frozen_stages, -1) or frozen_stages > num_stages:
        raise ValueError(
            f"frozen_stages must be from -1 (none) to {num_stages} (all stages), got "
            f"{frozen_stages!r}"
        )
    if not isinstance(small_maps, str) or small_maps not in get_args(SmallMaps):
        raise ValueError(f"small_maps must be one of {get_args(SmallMaps)}, got {small_maps!r}")


def check_pictures(x: Tensor, weight: Tensor) -> None:
    """Check a batch of pictures against the weight of the patch convolution.

    Args:
        x: (B, in_channels, H, W).
        weight: (embed_dims, in_channels, height and width of a patch).

    Raises:
        TypeError: if x is no dense tensor, or of a dtype that the network does not compute with.
        ValueError: if it has other dimensions.
    """
    if not isinstance(x, Tensor) or x.layout != torch.strided:
        kind = f"a tensor of layout {x.layout}" if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(
            f"the backbone takes pictures as a dense tensor (batch, channels, height, width), got "
            f"{kind}; stack them, as a data_preprocessor does"
        )
    in_channels = weight.shape[1]
    if x.dim() != 4 or x.shape[1] != in_channels:
        raise ValueError(
            f"the backbone takes pictures (batch, {in_channels}, height, width), got shape "
            f"{tuple(x.shape)}; for other channels build it with in_channels=..."
        )
    if x.shape[2] < 1 or x.shape[3] < 1:
        raise ValueError(f"pictures must have at least 1 x 1 px, got shape {tuple(x.shape)}")
    if type(weight) is nn.Parameter and not torch.compiler.is_compiling():
        _check_dtype(x, weight.dtype)


def _check_dtype(x: Tensor, dtype: torch.dtype) -> None:
    """Check that pictures can meet weights; sharded ones may be cast as they are gathered."""
    device, given = x.device.type, x.dtype
    if not x.is_floating_point():
        raise TypeError(
            f"pictures must be floating-point numbers, got {given}; convert them, "
            f"pictures.to({dtype}), and normalise them as the weights expect"
        )
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        cast, exact = torch.get_autocast_dtype(device), torch.float64  # which is never cast
        if (given == exact) != (dtype == exact) or (
            device == "cpu" and dtype not in (exact, torch.float32, cast)
        ):
            raise TypeError(
                f"under autocast to {cast} the weights must be float32, got {dtype} and pictures "
                f"of {given}; leave autocast out, or keep weights and pictures float32"
            )
    elif given != dtype:
        raise TypeError(
            f"pictures must have the weights' dtype, got {given} and {dtype}; convert them, "
            f"pictures.to({dtype}), or compute under torch.autocast"
        )


def grid_of(pretrain_img_size: int | Sequence[int], patch: tuple[int, int]) -> tuple[int, int]:
    """Say how many rows and columns of patches an absolute position embedding was learned on.

    Raises:
        ValueError: if there is not one.
    """
    height, width = as_pair(pretrain_img_size, "pretrain_img_size")
    if height < patch[0] or width < patch[1]:
        raise ValueError(
            f"pretrain_img_size must have at least one patch, {patch[0]} x {patch[1]} px, got "
            f"{height} x {width}"
        )
    return height // patch[0], width // patch[1]


def check_sizes(*, embed_dims: int, in_channels: int, mlp_ratio: float) -> None:
    """Check the numbers of channels.

    Raises:
        ValueError: if one is none.
    """
    for name, value in (("embed_dims", embed_dims), ("in_channels", in_channels)):
        if not is_whole(value, 1):
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    number = _is_number(mlp_ratio) and math.isfinite(mlp_ratio)
    if not number or int(mlp_ratio * embed_dims) < 1:
        raise ValueError(
            f"mlp_ratio must leave the FFN at least one channel, got {mlp_ratio!r} of {embed_dims}"
        )


def _is_number(value: object) -> bool:
    """Say whether a value is a number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_rates(**rates: float) -> None:
    """Check that shares to drop are shares.

    Raises:
        ValueError: if one is below 0 or above 1.
    """
    for name, rate in rates.items():
        if not _is_number(rate) or not 0 <= rate <= 1:
            raise ValueError(f"{name} must be from 0 to 1, got {rate!r}")


def check_switches(**switches: bool) -> None:
    """Check that what is on or off is one of both; 0 and 1 are too.

    Raises:
        ValueError: if one is something else.
    """
    for name, value in switches.items():
        if not isinstance(value, int) or value not in (0, 1):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def check_scale(qk_scale: float | None) -> None:
    """Check the factor of the scores.

    Raises:
        ValueError: if it is no number.
    """
    if qk_scale is not None and not (_is_number(qk_scale) and math.isfinite(qk_scale)):
        raise ValueError(
            f"qk_scale must be a number, or None for head channels ** -0.5, got {qk_scale!r}"
        )


def check_compile(compile: bool | Mapping[str, Any]) -> dict[str, Any] | None:
    """Read ``compile``: whether to, or with which keywords of ``torch.compile``.

    Returns:
        The keywords, or ``None`` for no compiling.

    Raises:
        ValueError: if it is neither.
        TypeError: if ``torch.compile`` has no such keyword.
    """
    if isinstance(compile, bool):
        return {} if compile else None
    if not isinstance(compile, Mapping):
        raise ValueError(
            f"compile must be True, False or a dict of torch.compile's keywords, got {compile!r}; "
            "a mode is compile=dict(mode='max-autotune')"
        )
    known = [name for name in inspect.signature(torch.compile).parameters if name != "model"]
    for name in compile:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            proposal = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"torch.compile has no keyword {name!r}; {proposal}")
    if compile.get("mode") is not None and compile.get("options") is not None:
        raise ValueError(
            f"torch.compile takes a mode or options, not both, got mode={compile['mode']!r} and "
            f"options={compile['options']!r}; torch._inductor.list_mode_options() says which "
            "options a mode stands for"
        )
    return dict(compile)
