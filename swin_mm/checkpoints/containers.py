"""What a checkpoint wraps around its tensors: containers, wrappers, the rest of a detector."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from swin_mm.checkpoints.errors import CheckpointError

# Asked in this order: MMEngine saves averaged weights, where it keeps any, as its state_dict.
CONTAINERS = (
    "state_dict",
    "model",
    "model_state",
    "model_state_dict",
    "teacher",
    "student",
    "net",
    "ema_state_dict",
    "state_dict_ema",
    "model_ema",
)

# Names that wrappers of modules insert anywhere in a key; no network uses them itself.
WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")

# timm's features_only flattens a sequence of layers into attributes of the network.
_FLATTENED = re.compile(r"(^|\.)layers_(\d+)\.")


@dataclass(frozen=True)
class Unwrapped:
    """The tensors of a checkpoint.

    Attributes:
        tensors: every tensor by its full name.
        container: where they lay, such as ``'state_dict'``; empty for a bare file.
    """

    tensors: dict[str, Tensor]
    container: str


def unwrap(checkpoint: Mapping) -> Unwrapped:
    """Take the tensors of a network out of a checkpoint.

    Raises:
        CheckpointError: if it holds none, or one that is no plain array of numbers.
    """
    path, inside = [], checkpoint
    while len(path) < 4 and (name := _container_in(inside)) is not None:  # a file may be a ring
        path.append(name)
        inside = inside[name]
    tensors = {
        _without_wrappers(key): value
        for key, value in inside.items()
        if isinstance(key, str) and isinstance(value, Tensor)
    }
    for key, value in tensors.items():
        if not _is_plain(value):
            raise CheckpointError(
                f"a checkpoint must hold plain tensors; {key} is {_kind(value)}. Save it as "
                "tensor.detach().float().contiguous()"
            )
    if not tensors:
        raise CheckpointError(
            "a checkpoint must hold named tensors, by themselves or under one of "
            f"{', '.join(CONTAINERS)}; this one holds {_some_keys(checkpoint)}"
            + (f", and under {'.'.join(path)!r} {_some_keys(inside)}" if path else "")
            + ". Save model.state_dict()"
        )
    return Unwrapped(tensors, ".".join(path))


def _container_in(checkpoint: Mapping) -> str | None:
    held = (name for name in CONTAINERS if isinstance(checkpoint.get(name), Mapping))
    return next(held, None)


def _without_wrappers(key: str) -> str:
    if "layers_" in key:
        key = _FLATTENED.sub(r"\1layers.\2.", key)
    if not any(wrapper in key for wrapper in WRAPPERS):
        return key
    return ".".join(part for part in key.split(".") if part not in WRAPPERS)


def _some_keys(mapping: Mapping) -> str:
    keys = [repr(key) for key in list(mapping)[:5]]
    more = f" and {len(mapping) - 5} more" if len(mapping) > 5 else ""
    return f"{', '.join(keys)}{more}" if keys else "nothing"


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is an array in memory, of no more numbers than there are."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        return False
    if tensor.dtype.itemsize < 2 and tensor.dtype.is_floating_point:  # float8 cannot be computed on
        return False
    return tensor.is_meta or tensor.numel() == 0 or 0 not in tensor.stride() or _is_small(tensor)


def _is_small(tensor: Tensor) -> bool:
    """Whether an expanded tensor, one number standing for many, may be written out."""
    return tensor.numel() <= 1 << 20


def _kind(tensor: Tensor) -> str:
    if tensor.layout is not torch.strided or tensor.is_nested:
        return f"{tensor.layout}"
    if tensor.is_quantized or tensor.dtype.itemsize < 2:
        return f"{tensor.dtype}"
    return f"one number expanded to {tuple(tensor.shape)}"
