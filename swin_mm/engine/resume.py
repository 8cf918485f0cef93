"""Which checkpoint a training goes on from."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mmengine.config import Config

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

AUTO = "auto"
LAST = "last_checkpoint"
_TEMPLATES = ("iter_{}.pth", "epoch_{}.pth")


@dataclass(frozen=True)
class _Found:
    """A checkpoint that can be read to its end.

    Attributes:
        path: where it lies.
        iteration: how many iterations it has been trained.
        saved: when, by the clock of the machine that wrote it; copying the file changes nothing.
    """

    path: str
    iteration: int
    saved: str


def choose_resume(cfg: Config, resume: str | None, notes: Notes, *, unsafe: bool = False) -> None:
    """Let a training go on from a file, or from the newest whole one in its work dir.

    One that begins anew where another has saved is warned of.

    Raises:
        UsageError: if the file does not exist, or the newest wants to run code and may not.
    """
    if resume is None and not (cfg.get("resume") and cfg.get("load_from") is None):
        _warn_of_others(cfg, notes)
        return
    folders, templates = places_of(cfg, cfg.work_dir)
    if resume in (None, AUTO):
        found = newest_checkpoint(folders, notes, templates=templates, unsafe=unsafe)
        if found is None:
            notes.say(f"Resume: no checkpoint in {cfg.work_dir} yet, starting at the beginning")
            cfg.resume = False
            return
    else:
        found = resume
        if not os.path.isfile(found):
            there = _checkpoints_in(folders, templates)
            listed = f". In {cfg.work_dir} there are: {', '.join(there)}" if there else ""
            raise UsageError(f"--resume: there is no file {found}{listed}")
    notes.say(f"Resume: {found}")
    cfg.resume, cfg.load_from = True, found


def _warn_of_others(cfg: Config, notes: Notes) -> None:
    there = list(_checkpoints_in(*places_of(cfg, cfg.work_dir)))
    if there:
        notes.warn(
            f"another run has saved in {cfg.work_dir}: {os.path.basename(there[-1])} is there. "
            "This one begins anew beside it, and writes over its config and the checkpoints of the "
            "same names. --resume goes on with it; another --work-dir keeps them apart"
        )


def places_of(cfg: Config, work_dir: str) -> tuple[list[str], tuple[str, ...]]:
    """Say into which folders a config's run saves, the work dir first, and under which names."""
    hook = (cfg.get("default_hooks") or {}).get("checkpoint") or {}
    folders = [work_dir]
    if hook.get("out_dir"):
        folders.append(os.path.join(hook["out_dir"], os.path.basename(work_dir.rstrip(os.sep))))
    return folders, (*_TEMPLATES, *filter(None, [hook.get("filename_tmpl")]))


def newest_checkpoint(
    folders: list[str],
    notes: Notes,
    *,
    templates: tuple[str, ...] = _TEMPLATES,
    unsafe: bool = False,
) -> str | None:
    """Find the newest checkpoint that is whole.

    It is the one that `last_checkpoint` names, or one that has been trained further and was saved
    later: a kill may come between the two files. Where that one is broken, or the name is lost, it
    is the one trained furthest. The times of the files mean nothing: `cp -r` changes them.

    Args:
        folders: where to look, the work dir first.
        notes: told of each broken one that is passed over.
        templates: names of checkpoints, `{}` in the place of the number.
        unsafe: run the code that a checkpoint wants to run.

    Raises:
        UsageError: if one that is whole wants to run code and may not.
    """
    numbers = _checkpoints_in(folders, templates)
    named = _named_last(folders)
    last = named and _inspect_or_warn(named, notes, unsafe=unsafe)
    if last:
        later = (path for path in numbers if _may_be_later(numbers, path, named))
        found = (_inspect_or_warn(path, notes, unsafe=unsafe) for path in later)
        further = [one for one in found if one and one.iteration > last.iteration]
        whole = [one for one in further if one.saved >= last.saved] or [last]
    else:
        others = (path for path in numbers if path != named)
        whole = list(
            filter(None, (_inspect_or_warn(path, notes, unsafe=unsafe) for path in others))
        )
    return max(whole, key=lambda one: (one.iteration, one.saved)).path if whole else None


def _may_be_later(numbers: Mapping[str, tuple[str, int]], path: str, named: str) -> bool:
    """Whether a checkpoint's name lets it be newer than another; reading takes its time."""
    if path == named or named not in numbers:
        return path != named
    return numbers[path][0] != numbers[named][0] or numbers[path][1] > numbers[named][1]


def _inspect_or_warn(path: str, notes: Notes, *, unsafe: bool) -> _Found | None:
    try:
        return _inspect(path, unsafe=unsafe)
    except _Broken as broken:
        notes.warn(f"{path} {broken}; passing it over")
        return None


class _Broken(Exception):
    """A file from which no run can go on; the message says why."""


def _inspect(path: str, *, unsafe: bool) -> _Found:
    try:
        with zipfile.ZipFile(path) as archive:  # torch's format, whose directory is written last
            damaged = archive.testzip()
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise _Broken(f"breaks off, an interrupted run left it ({error})") from error
    if damaged is not None:
        raise _Broken(f"is damaged, in {damaged}")
    try:
        content = read_checkpoint(path, map_location="meta", unsafe=unsafe)  # names, no numbers
    except CheckpointError as error:
        raise UsageError(
            f"{error}; or remove the file, and --resume takes the one before"
        ) from error
    meta = content.get("meta")
    if "message_hub" not in content or not isinstance(meta, dict) or "iter" not in meta:
        raise _Broken("holds weights alone")
    return _Found(path, int(meta["iter"]), str(meta.get("time", "")))


def _named_last(folders: list[str]) -> str | None:
    """Return the path of the checkpoint that `last_checkpoint` names, wherever it has moved to."""
    try:
        written = Path(folders[0], LAST).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    moved = [os.path.join(folder, os.path.basename(written)) for folder in folders]
    return next((path for path in [*moved, written] if os.path.isfile(path)), None)


def _checkpoints_in(folders: list[str], templates: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    """Find the checkpoints of some folders: by path, the template of the name and the number."""
    patterns = {one: re.escape(one).replace(r"\{\}", r"(\d+)") for one in dict.fromkeys(templates)}
    found = {}
    for folder in folders:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            for template, pattern in patterns.items():
                if match := re.fullmatch(pattern, name):
                    found[os.path.join(folder, name)] = template, int(match[1])
    return dict(sorted(found.items(), key=lambda item: item[1]))
