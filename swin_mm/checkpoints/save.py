"""Write weight files so that nobody ever sees half of one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.numpy_pickle_writer import write_numpy_pickle


def save_checkpoint(state: Mapping[str, Any], path: str | os.PathLike) -> None:
    """Write a checkpoint beside its place, to the disk, then into its place.

    Args:
        state: what to save; tensors alone, without containers, for ``.safetensors`` and ``.pkl``.
        path: where; the ending ``.safetensors`` chooses that format, ``.pkl`` detectron2's pickle
            of arrays, any other ``torch.save``.

    Raises:
        CheckpointError: if it cannot be written. What was at the path is still there then.
    """
    path = Path(path).expanduser()
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    write = {".safetensors": _write_safetensors, ".pkl": _write_pkl}.get(path.suffix, torch.save)
    try:
        beside.touch()  # with the user's own permissions, and an error of the system's own
        permissions = beside.stat().st_mode
        write(state, beside)
        beside.chmod(permissions)
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        raise CheckpointError(
            f"cannot write {path}: {error}. Its folder must exist, be writable and have room"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _write_safetensors(state: Mapping[str, Any], path: Path) -> None:
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise CheckpointError(
            "writing .safetensors needs the package safetensors. "
            'Install it: pip install "swin_mm[safetensors]"'
        ) from error
    _check_tensors(state, "a safetensors")
    save_file(_apart(state), path, metadata={"format": "pt"})


def _apart(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copy what shares memory or has strides: the format knows neither."""
    made, seen = {}, set()
    for key, value in state.items():
        tensor = value.detach().contiguous()
        memory = tensor.untyped_storage()
        if memory.data_ptr() in seen or memory.nbytes() != tensor.nbytes:
            tensor = tensor.clone()
        seen.add(memory.data_ptr())
        made[key] = tensor
    return made


def _write_pkl(state: Mapping[str, Any], path: Path) -> None:
    _check_tensors(state, "a .pkl")
    try:
        write_numpy_pickle(state, path)
    except TypeError as error:
        raise CheckpointError(
            f"a .pkl file holds NumPy's arrays: {error}. Convert the tensors to float32 first"
        ) from error


def _check_tensors(state: Mapping[str, Any], kind: str) -> None:
    others = [str(key) for key, value in state.items() if not isinstance(value, torch.Tensor)]
    if others:
        raise CheckpointError(
            f"{kind} file holds tensors alone, this checkpoint also holds "
            f"{', '.join(others[:5])}. Save its state_dict, or to a .pth file"
        )


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a crash, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
