"""Skip broken pictures in training, and count them: a pipeline's step, and the hook that tells."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmengine import dist
from mmengine.config import Config
from mmengine.hooks import Hook
from mmengine.logging import print_log
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.runner import Runner

from swin_mm.checking.faults import DataError
from swin_mm.checking.reading import (
    BrokenFile,
    lies_on_disk,
    open_header,
    read_bytes,
    require_whole,
)
from swin_mm.checking.sources import leaves_of
from swin_mm.registry import HOOKS, TRANSFORMS

_NAMED = 10  # pictures in one line of the log
_END = 64  # bytes at the end of a file that tell whether it is whole


@TRANSFORMS.register_module()
class SkipBroken:
    """Load a picture and its annotations, or skip it: the data set then draws another.

    Put it in place of the loading steps of a *training* pipeline, as `skip_broken` does:
    `dict(type="swin_mm.SkipBroken", transforms=[dict(type="LoadImageFromFile"), ...])`. A file that
    breaks off counts as broken whatever the loader makes of it. In testing nothing can be left out:
    the picture is named and MMEngine stops.

    Args:
        transforms: the loading steps.
        in_a_row: so many failures, one after the other, are no broken pictures but a lost disk or
            a wrong setting: the training stops.
    """

    def __init__(self, transforms: Sequence[Mapping[str, Any]], *, in_a_row: int = 20) -> None:
        self.transforms = [MMENGINE_TRANSFORMS.build(dict(step)) for step in transforms]
        self.in_a_row = in_a_row
        self._failed = 0
        self._told: set[str] = set()
        # Workers write, the trainer reads: neither a full pipe nor a worker's death can lose it.
        handle, self.journal = tempfile.mkstemp(prefix="swin_mm_skipped_", suffix=".jsonl")
        os.close(handle)
        weakref.finalize(self, _remove, self.journal, os.getpid())

    def __call__(self, results: dict) -> dict | None:
        """Load, or return nothing.

        Raises:
            DataError: after too many failures in a row.
        """
        named = str(results.get("img_path"))
        try:
            for key in ("img_path", "seg_map_path"):
                _require_end(results.get(key))
            for step in self.transforms:
                loaded = step(results)
                if loaded is None:
                    raise BrokenFile("file-unreadable", f"{type(step).__name__} gives nothing")
                results = loaded
        except Exception as error:  # loaders fail in any way; a wrong setting fails in a row
            self._skip(named, error)
            return None
        self._failed = 0
        return results

    def _skip(self, named: str, error: Exception) -> None:
        why = error.met if isinstance(error, BrokenFile) else _told(error)
        self._failed += 1
        if self._failed >= self.in_a_row:
            raise DataError(
                f"{self._failed} pictures in a row cannot be read, the last one {named}: {why}. "
                "Is the disk there? tools/check_data.py CONFIG names what is broken"
            ) from error
        if named not in self._told:
            self._told.add(named)
            print_log(f"broken, left out: {named}: {why}", "current", logging.WARNING)
        with open(self.journal, "a", encoding="utf-8") as journal:
            journal.write(json.dumps({"file": named, "why": why}) + "\n")

    def __repr__(self) -> str:
        return f"SkipBroken(transforms={self.transforms}, in_a_row={self.in_a_row})"


@HOOKS.register_module()
class SkipReportHook(Hook):
    """Tell after each epoch, before each validation and at the end which pictures were skipped.

    All of them, with counts and causes, are also in `skipped_pictures.json` in the work dir.
    """

    def __init__(self) -> None:
        self._read: dict[str, int] = {}
        self._all: dict[str, dict[str, Any]] = {}

    def after_train_epoch(self, runner: Runner) -> None:
        """Tell what was skipped since."""
        self._report(runner)

    def before_val(self, runner: Runner) -> None:
        """Tell what was skipped since, in a training counted by iterations."""
        if runner.iter > 0:
            self._report(runner)

    def after_train(self, runner: Runner) -> None:
        """Tell what was skipped in all."""
        self._report(runner)
        times = sum(entry["times"] for entry in self._all.values())
        told = f"{len(self._all)} broken pictures were left out, {times} times in all"
        if dist.is_main_process():
            runner.logger.info(f"{told}." if self._all else "No picture was left out as broken.")

    def _report(self, runner: Runner) -> None:
        mine = [
            line for step in _skippers(runner.train_dataloader.dataset) for line in self._new(step)
        ]
        new = [line for lines in dist.all_gather_object(mine) for line in lines]
        if not new:
            return
        for line in new:
            entry = self._all.setdefault(line["file"], {"why": line["why"], "times": 0})
            entry["times"] += 1
        if not dist.is_main_process():
            return
        files = list(dict.fromkeys(line["file"] for line in new))
        shown = [f"{name} ({self._all[name]['why']})" for name in files[:_NAMED]]
        more = f"; and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        path = os.path.join(runner.work_dir, "skipped_pictures.json")
        _write(path, self._all)
        runner.logger.warning(  # the iteration too: MMEngine logs no warning twice
            f"Left out up to iteration {runner.iter}: {len(files)} broken pictures, {len(new)} "
            f"times: {'; '.join(shown)}{more}. All so far: {path}"
        )

    def _new(self, step: SkipBroken) -> list[dict[str, str]]:
        """Read what was written since; a line that is not whole yet comes next time."""
        with open(step.journal, "rb") as journal:
            journal.seek(self._read.get(step.journal, 0))
            whole = journal.read().rpartition(b"\n")[0]
        self._read[step.journal] = self._read.get(step.journal, 0) + len(whole) + bool(whole)
        return [json.loads(line) for line in whole.splitlines()]


def skip_broken(cfg: Config) -> int:
    """Let a training skip and count broken pictures; validation and test go on stopping at them.

    Returns:
        How many pipelines were changed.
    """
    changed = 0
    for node in leaves_of((cfg.get("train_dataloader") or {}).get("dataset")):
        steps = list(node.get("pipeline") or [])
        count = next((i for i, step in enumerate(steps) if not _loads(step)), len(steps))
        if count:
            skip = {"type": "swin_mm.SkipBroken", "transforms": steps[:count]}
            node["pipeline"] = [skip, *steps[count:]]
            changed += 1
    hooks = list(cfg.get("custom_hooks") or [])
    if changed and not any(hook["type"] == "swin_mm.SkipReportHook" for hook in hooks):
        cfg.custom_hooks = [*hooks, {"type": "swin_mm.SkipReportHook"}]
    return changed


def _loads(step: Any) -> bool:
    kind = step.get("type") if isinstance(step, Mapping) else type(step)
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
    return name.rpartition(".")[2].startswith("Load")


def _skippers(dataset: Any) -> Iterator[SkipBroken]:
    """Go through the steps of ours in a data set and those that it wraps."""
    steps = getattr(getattr(dataset, "pipeline", None), "transforms", ())
    yield from (step for step in steps if isinstance(step, SkipBroken))
    inner = getattr(dataset, "datasets", None) or [getattr(dataset, "dataset", None)]
    for wrapped in inner:
        if wrapped is not None:
            yield from _skippers(wrapped)


def _require_end(path: Any) -> None:
    """Refuse a JPEG or PNG that breaks off, which some decoders fill with gray in silence."""
    if not isinstance(path, str) or not lies_on_disk(path, None) or not os.path.isfile(path):
        return  # the loader knows better
    with open(path, "rb") as file:
        start = file.read(8)
        file.seek(max(0, os.path.getsize(path) - _END))
        end = file.read()
    if not start:
        raise BrokenFile("file-empty", "0 bytes")
    jpeg, png = start.startswith(b"\xff\xd8"), start.startswith(b"\x89PNG")
    if (jpeg and not end.endswith(b"\xff\xd9")) or (png and b"IEND" not in end):
        content = read_bytes(path)
        require_whole(content, open_header(content, "cv2"))  # or only something follows its end


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _write(path: str, content: object) -> None:
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
    os.replace(f"{path}.part", path)


def _remove(path: str, owner: int) -> None:
    """Remove a journal at the end of the process that made it, not of its workers."""
    if os.getpid() == owner and os.path.exists(path):
        os.unlink(path)
