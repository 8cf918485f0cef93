"""Make MMEngine read checkpoints with our reader, wherever it reads one.

MMEngine's own reader is no guard: the maintained fork, refused by ``weights_only``, unpickles
without it in silence, and a hostile file runs; upstream cannot read its own files with
torch >= 2.6. Both look a loader up by the scheme of the path. That is where ours step in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmengine.dist import barrier, get_local_rank
from mmengine.fileio import get_local_path
from mmengine.runner import (
    CheckpointLoader,
    get_deprecated_model_names,
    get_external_models,
    get_mmcls_models,
    get_torchvision_models,
)

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints.download import download, is_url
from swin_mm.checkpoints.read import MapLocation
from swin_mm.engine.whole_models import with_state_dict

Loader = Callable[[str, MapLocation], dict[str, Any]]


def allow_safe_reading(*, unsafe: bool = False) -> None:
    """Have MMEngine's ``CheckpointLoader`` read tensors and plain values only.

    Covers ``load_from``, ``resume``, the ``init_cfg`` of any module, hooks and inferencers; for
    files, URLs, MMEngine's named models and object stores. The tensors come under ``state_dict``,
    where MMEngine looks for them, whatever the file's container. Calling it again changes nothing.

    Args:
        unsafe: run the code that pickles name, for users who trust their files.
    """

    def load_from_safe_file(path: str, map_location: MapLocation = None) -> dict[str, Any]:
        read = read_checkpoint(path, map_location=map_location, unsafe=unsafe)
        return with_state_dict(read)

    def load_from_safe_url(url: str, map_location: MapLocation = None) -> dict[str, Any]:
        try:
            if get_local_rank() == 0:
                download(url)
        finally:  # where the first process of a machine fails, the others must not wait for it
            barrier()
        return load_from_safe_file(url, map_location)

    def load_from_safe_store(path: str, map_location: MapLocation = None) -> dict[str, Any]:
        with get_local_path(path, backend_args={"backend": "petrel"}) as local:
            return load_from_safe_file(local, map_location)

    def load_from_safe_name(path: str, map_location: MapLocation = None) -> dict[str, Any]:
        source = _address_of(path)
        load = load_from_safe_url if is_url(source) else load_from_safe_file
        checkpoint = load(source, map_location)
        return _backbone_of(checkpoint) if path.startswith("mmcls://") else checkpoint

    loaders: dict[tuple[str, ...], Loader] = {
        ("",): load_from_safe_file,
        ("http://", "https://"): load_from_safe_url,
        (r"(\S+\:)?s3://", r"(\S+\:)?petrel://"): load_from_safe_store,
        tuple(f"{scheme}://" for scheme in _NAMED_MODELS): load_from_safe_name,
        ("pavi://",): load_from_refused_pavi,
    }
    for schemes, loader in loaders.items():
        CheckpointLoader.register_scheme(schemes, loader, force=True)


def load_from_refused_pavi(path: str, map_location: MapLocation = None) -> dict[str, Any]:
    """Refuse the one scheme whose client we cannot stand between.

    Raises:
        CheckpointError: always.
    """
    raise CheckpointError(
        f"checkpoints of pavi:// cannot be read safely, got {path}. Fetch it and give the file"
    )


_NAMED_MODELS: dict[str, Callable[[], dict[str, str]]] = {
    "torchvision": get_torchvision_models,
    "modelzoo": get_torchvision_models,
    "openmmlab": get_external_models,
    "open-mmlab": get_external_models,
    "mmcls": get_mmcls_models,
}


def _address_of(path: str) -> str:
    """Look up the address of a model that MMEngine knows by name, ``scheme://name``.

    Raises:
        CheckpointError: if it knows none of that name.
    """
    scheme, _, name = path.partition("://")
    if scheme in ("openmmlab", "open-mmlab"):
        name = get_deprecated_model_names().get(name, name)
    known = _NAMED_MODELS[scheme]()
    if name not in known:
        raise CheckpointError(
            f"{scheme}:// must be followed by a name that MMEngine knows, got {name!r}. "
            "Give a file or an http(s) URL"
        )
    address = known[name]
    return address if is_url(address) else str(_home() / address)


def _home() -> Path:
    """Where MMEngine looks for a named model that is a file, as its documentation says."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("MMENGINE_HOME", f"{cache}/mmengine")).expanduser()


def _backbone_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Keep a classifier's backbone, its names bare, as MMEngine does for ``mmcls://``."""
    tensors = checkpoint.get("state_dict", {})
    prefix = "backbone."
    return {
        "state_dict": {
            name.removeprefix(prefix): tensor
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }
    }
