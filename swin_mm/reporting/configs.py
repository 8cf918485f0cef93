"""The config that a run dumped, and what it changed of the one it began with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape, glob
from typing import Any

from mmengine.config import Config

from swin_mm.engine.config import read_config
from swin_mm.engine.errors import UsageError
from swin_mm.engine.options import read_at_the_top

_LONGEST = 160  # characters of a value
ABSENT = "—"


@dataclass(frozen=True)
class Change:
    """A setting that a run changed: its dotted key, and the two values as Python."""

    key: str
    before: str
    after: str


@dataclass(frozen=True)
class RunConfig:
    """What a run was told.

    Attributes:
        path: of the dump.
        cfg: the dump.
        base: the config of that name that it began with, or nothing.
        changes: from the base to the dump.
    """

    path: str
    cfg: Config
    base: str
    changes: tuple[Change, ...]


def read_run_config(work_dir: str, folders: Sequence[str]) -> RunConfig:
    """Read the newest config in a work dir.

    Args:
        work_dir: MMEngine dumps the config there under the name it was started with, and into
            `vis_data` of each start.
        folders: where to look for the config of that name.

    A dump that a kill cut short, or left empty, is passed over for an older one.

    Raises:
        UsageError: if there is none, or none that can be read.
    """
    starts = sorted(glob(f"{escape(work_dir)}/*/vis_data/config.py"), reverse=True)
    paths = sorted(glob(f"{escape(work_dir)}/*.py"), key=os.path.getmtime, reverse=True)
    if starts:  # of several runs in one folder that of the last; copies are all of one age
        last = _content(starts[0])
        paths.sort(key=lambda path: _content(path) != last)
    paths += starts
    if not paths:
        raise UsageError(f"there is no config in {work_dir}: MMEngine dumps one as a run begins")
    path, cfg = _first_whole(paths)
    name = os.path.basename(path)
    places = [os.path.join(folder, name) for folder in folders]
    for base in (place for place in places if os.path.isfile(place)):
        try:
            changes = differences(read_config(base).to_dict(), cfg.to_dict())
            return RunConfig(path, cfg, base, changes)
        except UsageError:  # somebody else's file of that name
            continue
    return RunConfig(path, cfg, "", ())


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _first_whole(paths: Sequence[str]) -> tuple[str, Config]:
    errors = []
    for path in paths:
        try:
            cfg = read_config(path)
            if "model" in cfg:
                return path, cfg
            errors.append(UsageError(f"{path} has no model: its dump was cut short"))
        except UsageError as error:
            errors.append(error)
    raise errors[0]


def differences(before: Mapping, after: Mapping) -> tuple[Change, ...]:
    """List the settings in which two configs differ, by dotted key.

    Those that a run reads: other names at the top of a config are only there to build them.
    """
    told = read_at_the_top() - {"work_dir"}
    old, new = dict(_leaves(before)), dict(_leaves(after))
    changes = []
    for key in dict.fromkeys([*old, *new]):
        if key.partition(".")[0] in told and old.get(key, ABSENT) != new.get(key, ABSENT):
            changes.append(Change(key, _short(old.get(key)), _short(new.get(key))))
    return tuple(changes)


def _leaves(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Go through a config's values; a list of plain values is one."""
    if isinstance(node, Mapping) and node:
        children = [(str(name), child) for name, child in node.items()]
    elif isinstance(node, list | tuple) and any(isinstance(one, Mapping | list) for one in node):
        children = [(str(number), child) for number, child in enumerate(node)]
    else:
        yield key, repr(list(node) if isinstance(node, tuple) else node)
        return
    for name, child in children:
        yield from _leaves(child, f"{key}.{name}" if key else name)


def _short(value: str | None) -> str:
    if value is None:
        return ABSENT
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
