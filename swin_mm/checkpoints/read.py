"""Read weight files safely: tensors and plain values, no code."""

from __future__ import annotations

import difflib
import os
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from swin_mm.checkpoints.download import download, is_url
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.numpy_pickles import is_plain_pickle, read_numpy_pickle
from swin_mm.checkpoints.pickle_survey import survey
from swin_mm.checkpoints.pickles import admitted, is_plain

MapLocation = str | torch.device | Mapping | Callable | None

_NAMED = re.compile(r"GLOBAL (\S+)|unrecognized function (.+)")


def read_checkpoint(
    source: str | os.PathLike, *, map_location: MapLocation = "cpu", unsafe: bool = False
) -> dict[str, Any]:
    """Read a ``.pth``, ``.safetensors`` or detectron2's ``.pkl`` file or URL.

    The content tells which it is, not the ending.

    Args:
        source: path or http(s) URL. Downloads are kept where torch.hub keeps them, and checked
            against the hash in the file's name, if it bears one.
        map_location: device of the tensors, as for ``torch.load``.
        unsafe: run the code that a pickle names. Only for files you trust.

    Returns:
        What was saved, containers and all; the arrays of a ``.pkl`` as tensors.

    Raises:
        CheckpointError: if there is no such file, it is damaged, or it wants to run code.
    """
    path = download(str(source)) if is_url(source) else _existing(source)
    _check_device(map_location)
    start = _start_of(path)
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") < path.stat().st_size:
        content = _read_safetensors(path, map_location)
    elif is_plain_pickle(start):
        device = _device(map_location)
        content = _refusing(path, lambda: read_numpy_pickle(path, device=device, unsafe=unsafe))
    else:
        content = _refusing(path, lambda: _read_torch(path, map_location, unsafe))
    if not isinstance(content, dict):
        raise CheckpointError(
            f"a checkpoint must hold a dictionary, {path} holds a {type(content).__name__}. "
            "Save model.state_dict(), not the model"
        )
    return content


def _read_torch(path: Path, map_location: MapLocation, unsafe: bool) -> Any:
    if unsafe:
        return torch.load(path, map_location=map_location, weights_only=False)
    with path.open("rb") as file:
        found = survey(file)
    try:
        if found.protocol > 3:  # of the later ones torch knows no instruction
            raise pickle.UnpicklingError(f"its pickle has protocol {found.protocol}")
        with admitted():
            return torch.load(path, map_location=map_location, weights_only=True)
    except pickle.UnpicklingError as error:
        foreign = [name for name in found.called if not is_plain(name)]
        if foreign and not _NAMED.search(str(error)):
            raise pickle.UnpicklingError(f"Unsupported global: GLOBAL {foreign[0]}") from error
        if found.protocol > 2:
            raise CheckpointError(
                f"of a .pth file pickle's protocol 2 is read, {path} has {found.protocol}. Save it "
                "again without pickle_protocol, or, if you trust it, read it with unsafe=True"
            ) from error
        raise
    except RuntimeError as error:
        if "map_location=" in str(error):
            raise CheckpointError(
                f"the tensors in {path} were saved on a device that is not here. "
                'Read them with map_location="cpu"'
            ) from error
        raise


def _refusing(path: Path, read: Callable[[], Any]) -> Any:
    """Read a pickle; say of one that failed whether it wants to run code or is damaged."""
    try:
        return read()
    except CheckpointError:
        raise
    except pickle.UnpicklingError as error:
        named = _NAMED.search(str(error))
        if named and not _ends_within(path, named[1] or named[2]):
            raise CheckpointError(
                "a checkpoint may hold tensors and plain values only, but "
                f"{path} wants to call {named[1] or named[2]}. Nothing was run. If you trust "
                "whoever made the file, read it with unsafe=True"
            ) from error
        raise CheckpointError(_damaged(path, error)) from error
    except Exception as error:  # whatever a damaged file makes the unpickler stumble over
        raise CheckpointError(_damaged(path, error)) from error


def _read_safetensors(path: Path, map_location: MapLocation) -> dict[str, torch.Tensor]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise CheckpointError(
            f"{path} is a safetensors file, which needs the package safetensors. "
            'Install it: pip install "swin_mm[safetensors]"'
        ) from error
    try:
        return load_file(path, device=str(_device(map_location)))
    except SafetensorError as error:
        raise CheckpointError(_damaged(path, error)) from error


def _device(map_location: MapLocation) -> str | torch.device:
    """Take what names one device; maps of storages are torch's own."""
    return map_location if isinstance(map_location, str | torch.device) else "cpu"


def _check_device(map_location: MapLocation) -> None:
    """Refuse a device that is not here; it is no fault of the file's."""
    if not isinstance(map_location, str | torch.device):
        return
    try:
        torch.empty(0, device=map_location)
    except Exception as error:  # torch says it in as many ways as it has devices
        raise CheckpointError(
            f"map_location must be a device of this machine, {map_location} cannot be used: "
            f"{_reason(error)}. Use 'cpu'"
        ) from error


def _existing(source: str | os.PathLike) -> Path:
    """Find a file, or say what is there in its place; opening a pipe would wait for ever."""
    path = Path(source)
    try:
        path = path.expanduser()
        if path.is_file():
            return path
        _refuse_other_kinds(path)
        neighbours = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    except (OSError, RuntimeError) as error:  # a name too long, a home that nobody has
        raise CheckpointError(f"{path} cannot be read: {_reason(error)}. Check the path") from error
    near = difflib.get_close_matches(path.name, neighbours, n=1)
    raise CheckpointError(
        f"no such checkpoint: {path} (from {Path.cwd()}). "
        + (f"Did you mean {path.parent / near[0]}?" if near else "Give an existing file or a URL")
    )


def _refuse_other_kinds(path: Path) -> None:
    if path.is_dir():
        raise CheckpointError(
            f"a checkpoint must be a file, {path} is a folder. Name the file in it"
        )
    if path.exists():
        raise CheckpointError(
            f"a checkpoint must be a file, {path} is a device or a pipe. Write it to a file first"
        )
    if path.is_symlink():
        raise CheckpointError(
            f"no such checkpoint: {path} is a link to {os.readlink(path)}, which leads to no file. "
            "Give an existing file or a URL"
        )


def _start_of(path: Path) -> bytes:
    """Read the first bytes, and refuse what is no weight file at all."""
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
    if not start:
        raise CheckpointError(f"a checkpoint must hold something, {path} is empty. Fetch it again")
    if start.startswith(b"version https://git-lfs"):
        raise CheckpointError(f"{path} is a Git LFS pointer, not the file. Run git lfs pull")
    if start.lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise CheckpointError(
            f"{path} is a web page, not a checkpoint. Fetch the file itself from its direct link"
        )
    return start


def _ends_within(path: Path, name: str) -> bool:
    """Say whether a file was cut off in the middle of a name that it would have been refused for.

    A whole pickle ends in a full stop. The unpickler takes the last byte it got for the line's end.
    """
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 256), os.SEEK_END)
        return file.read()[:-1].endswith(name.rpartition(".")[2].encode())


def _damaged(path: Path, error: Exception) -> str:
    return (
        f"{path} ({path.stat().st_size} bytes) is damaged, incomplete or no PyTorch checkpoint: "
        f"{_reason(error)}. If it should be one, fetch or save it again in its place"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().split("\n")[0].removesuffix(".") or type(error).__name__
