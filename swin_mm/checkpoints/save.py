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
    path = Path(path)
    place = _place_of(path)
    beside = place.with_name(f".{place.name}.{os.getpid()}.partial")
    write = {".safetensors": _write_safetensors, ".pkl": _write_pkl}.get(path.suffix, torch.save)
    try:
        beside.touch()  # with the user's own permissions, and an error of the system's own
        permissions = beside.stat().st_mode
        write(state, beside)
        beside.chmod(permissions)
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, place)
    except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
        raise CheckpointError(
            f"cannot write {path}: {error}. Its folder must exist, be writable and have room"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(place.parent)


def _place_of(path: Path) -> Path:
    """Find the file that a path means, through links; what is there and no file stays."""
    try:
        place = path.expanduser().resolve()
        taken = place.exists() and not place.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"cannot write {path}: {error}. Give another path") from error
    if taken:
        kind = "a folder" if place.is_dir() else "a device or a pipe"
        raise CheckpointError(
            f"a checkpoint is written to a file, {path} is {kind}. Give the path of a file"
        )
    return place


def _write_safetensors(state: Mapping[str, Any], path: Path) -> None:
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise CheckpointError(
            "writing .safetensors needs the package safetensors. "
            'Install it: pip install "swin_mm[safetensors]"'
        ) from error
    _check_tensors(state, "a safetensors")
    _check_names(state)
    save_file(_apart(state), path, metadata={"format": "pt"})


def _apart(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Copy what shares memory or has strides: the format knows neither."""
    made, seen = {}, set()
    for key, value in state.items():
        tensor = value.detach().resolve_conj().resolve_neg().contiguous()
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
    for key, tensor in state.items():
        if what := _more_than_numbers(tensor):
            raise CheckpointError(
                f"{kind} file holds plain arrays of numbers alone, {key} is {what}. "
                "Convert the tensor first, or save to a .pth file"
            )


def _more_than_numbers(tensor: torch.Tensor) -> str:
    """Name what keeps a tensor from being a plain array, if anything does."""
    if tensor.is_nested:
        return "nested"
    if tensor.layout is not torch.strided:
        return f"sparse ({tensor.layout})"
    if tensor.is_quantized:
        return f"quantised ({tensor.dtype})"
    return "on the device meta, without numbers" if tensor.is_meta else ""


def _check_names(state: Mapping[str, Any]) -> None:
    """Refuse what a header in JSON cannot name, or keeps for itself."""
    for name in state:
        written = name.encode(errors="replace").decode() if isinstance(name, str) else None
        if written != name or name == "__metadata__":
            raise CheckpointError(
                "a safetensors file names its tensors in UTF-8, and keeps __metadata__ for "
                f"itself; this checkpoint has a tensor {name!a}. Rename it, or save to a .pth file"
            )


def sync_folder(folder: str | Path) -> None:
    """Make the new name last through a crash, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
