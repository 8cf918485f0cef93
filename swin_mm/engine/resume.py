"""Which checkpoint a training goes on from."""

from __future__ import annotations

import os
import zipfile
from glob import escape, glob

from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

AUTO = "auto"


def choose_resume(cfg: Config, resume: str | None, notes: Notes) -> None:
    """Let a training go on from a file, or from the newest whole one in its work dir.

    Raises:
        UsageError: if the file does not exist.
    """
    if resume is None and not (cfg.get("resume") and cfg.get("load_from") is None):
        return
    if resume in (None, AUTO):
        found = newest_checkpoint(cfg.work_dir, notes)
        if found is None:
            notes.say(f"Resume: no checkpoint in {cfg.work_dir} yet, starting at the beginning")
            cfg.resume = False
            return
    else:
        found = resume
        if not os.path.isfile(found):
            there = _checkpoints_in(cfg.work_dir)
            listed = f". In {cfg.work_dir} there are: {', '.join(there)}" if there else ""
            raise UsageError(f"--resume: there is no file {found}{listed}")
    notes.say(f"Resume: {found}")
    cfg.resume, cfg.load_from = True, found


def newest_checkpoint(folder: str, notes: Notes) -> str | None:
    """Find the newest checkpoint of a folder that was written to its end.

    `last_checkpoint` is not asked: after a kill it may name a file that breaks off.
    """
    for path in _checkpoints_in(folder):
        if zipfile.is_zipfile(path):  # torch's format, whose directory is written last
            return path
        notes.warn(f"{path} breaks off, an interrupted run left it; trying the one before")
    return None


def _checkpoints_in(folder: str) -> list[str]:
    """List a folder's checkpoints, the newest first."""
    paths = [path for kind in ("iter", "epoch") for path in glob(f"{escape(folder)}/{kind}_*.pth")]
    return sorted(paths, key=lambda path: (os.path.getmtime(path), len(path), path), reverse=True)
