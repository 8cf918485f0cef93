"""Read a config file, and the small turns of a config that commands share."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mmengine.config import Config
from mmengine.registry import init_default_scope

from swin_mm.checking import SPLITS
from swin_mm.engine.errors import UsageError, near


class FormattedOnce(Config):
    """A config whose text is formatted anew only after a change.

    MMEngine asks for the text five times before a run and once a checkpoint, and formatting a
    detector's takes a second.
    """

    @property
    def pretty_text(self) -> str:
        """The config as Python."""
        settings = repr(self._cfg_dict)
        if self.__dict__.get("_formatted", ("",))[0] != settings:
            object.__setattr__(self, "_formatted", (settings, super().pretty_text))
        return self.__dict__["_formatted"][1]


def read_config(path: str, *, needs: Iterable[str] = ()) -> Config:
    """Read a config file.

    Args:
        path: of the file.
        needs: groups of settings that must be there, by dotted key, such as `model.backbone`.

    Raises:
        UsageError: if there is no such file, it cannot be understood, a module that it needs is
            not installed, or it lacks one of these groups.
    """
    if not os.path.isfile(path):
        folder = os.path.dirname(path) or "."
        known = _configs_in(folder) or _configs_in("configs")
        listed = f". There are: {', '.join(shlex.quote(name) for name in known)}" if known else ""
        raise UsageError(f"there is no config {path}{near(path, known) or listed}")
    try:
        cfg = Config.fromfile(path)
    except ImportError as error:
        cause = error.__cause__ or error
        raise UsageError(
            f"{path} needs a module that does not import: {cause}. "
            'Install it; for MMDetection and MMSegmentation: pip install "swin_mm[onedl]"'
        ) from error
    except Exception as error:  # a config is a program of the user's: it can fail in any way
        what = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path} is not a config that MMEngine can read: {what}") from error
    object.__setattr__(cfg, "__class__", FormattedOnce)
    _require_groups(cfg, path, needs)
    return cfg


def _require_groups(cfg: Config, path: str, needs: Iterable[str]) -> None:
    for part in needs:
        node: Any = cfg._cfg_dict
        for key in part.split("."):
            node = node.get(key) if isinstance(node, Mapping) else None
        if not isinstance(node, Mapping | list) or not node:
            met = "is not there" if node is None else f"is {str(node)[:60]!r}"
            raise UsageError(
                f"{path} must have a group of settings {part}, which {met}. Files below _base_ are "
                "parts of configs: name one that builds on them"
            )


def import_host(cfg: Config) -> str:
    """Import the project whose names a config uses, and return its scope.

    Raises:
        UsageError: if it is not installed.
    """
    scope = cfg.get("default_scope") or "mmengine"
    if importlib.util.find_spec(scope) is None:
        raise UsageError(
            f"this config needs {scope}, which is not installed: "
            'pip install "swin_mm[onedl]" (maintained forks) or "swin_mm[openmmlab]"'
        )
    # The host complains, and prints, of optional packages that are not there.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        importlib.import_module(f"{scope}.registry")
        if scope != "mmengine":
            importlib.import_module(f"{scope}.evaluation")
    init_default_scope(scope)
    return scope


def _configs_in(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        return []
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py"))


def default_work_dir(path: str) -> str:
    """Return `work_dirs/` and the config's name."""
    return os.path.join("work_dirs", os.path.splitext(os.path.basename(path))[0])


def every_dict(node: Any) -> Iterator[dict]:
    """Go through a config's dicts, the outer before the inner."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list | tuple):
        for child in node:
            yield from every_dict(child)


def as_list(value: Any) -> list:
    """Return a list as it is, nothing as an empty one, and one thing as a list of one."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def type_of(node: Mapping[str, Any]) -> str:
    """Return what a dict's `type` is called, without MMEngine's scope.

    A config may give a name, with or without a scope; or the class, as MMEngine's newer configs do,
    which are dumped with the whole path of the class.
    """
    kind = node.get("type")
    if kind is None or isinstance(kind, str):
        name = kind or ""
    else:
        name = f"{kind.__module__}.{kind.__qualname__}"
    return name.rpartition(".")[2] if name.startswith("mmengine.") else name


def allow_no_workers(cfg: Config) -> None:
    """Let `num_workers=0` be set alone: torch refuses `persistent_workers` beside it."""
    for split in SPLITS:
        loader = cfg.get(f"{split}_dataloader")
        if isinstance(loader, Mapping) and loader.get("num_workers") == 0:
            loader["persistent_workers"] = False
