"""Where a config's data lies: elsewhere on request, and checked before anything is built."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from mmengine.config import Config

from swin_mm.checking import DataError, check_sample, format_summary
from swin_mm.engine.config import as_list, every_dict
from swin_mm.engine.errors import UsageError, command, command_again
from swin_mm.engine.notes import Notes


def datasets_of(cfg: Config, split: str) -> Iterator[dict]:
    """Go through the data sets of a split that lie on disk, inside wrappers too."""
    loader = cfg.get(f"{split}_dataloader") or {}
    for node in every_dict(loader.get("dataset")):
        if "type" in node and ("data_root" in node or "ann_file" in node or "data_prefix" in node):
            yield node


def point_data_at(cfg: Config, root: str, splits: Sequence[str], notes: Notes) -> None:
    """Let every data set and evaluator of a config read from another folder.

    A data set's root may be the folder itself, or lie in it under the last names of the root in
    the config: for `data/ade/ADEChallengeData2016`, `ROOT`, `ROOT/ADEChallengeData2016` and
    `ROOT/ade/ADEChallengeData2016` are tried.

    Raises:
        UsageError: if the folder does not exist.
    """
    if not os.path.isdir(root):
        raise UsageError(f"--data-root: there is no folder {root}.\n{_ways_out()}")
    moves = {}
    moved = set()  # validation and test often are one object
    for split in splits:
        for dataset in datasets_of(cfg, split):
            if id(dataset) in moved:
                continue
            moved.add(id(dataset))
            old = dataset.get("data_root") or ""
            new = next(
                (place for place in _places(root, old) if not _missing(dataset, place)), root
            )
            moves[old] = dataset["data_root"] = new
    for split in splits:
        for evaluator in every_dict(as_list(cfg.get(f"{split}_evaluator"))):
            if id(evaluator) in moved:
                continue
            moved.add(id(evaluator))
            for key, value in evaluator.items():
                old = _root_of(value, moves)
                if old is not None:
                    evaluator[key] = os.path.join(moves[old], os.path.relpath(value, old))
    if "data_root" in cfg:
        cfg.data_root = next(iter(moves.values()), root)
    notes.say(f"Data: {', '.join(dict.fromkeys(moves.values()))}")


def require_data(cfg: Config, splits: Sequence[str]) -> None:
    """Check that the files of every data set are there.

    Raises:
        UsageError: naming the first file that is not, and commands that would work.
    """
    for split in splits:
        for dataset in datasets_of(cfg, split):
            root = dataset.get("data_root") or ""
            if missing := _missing(dataset, root):
                raise UsageError(
                    f"no {split} data at {root or os.getcwd()}: {missing}.\n{_ways_out()}"
                )


def look_at_data(cfg: Config, notes: Notes, *, skipping: bool) -> None:
    """Check every record and a sample of the pictures of a training, and say what there is.

    Args:
        cfg: a config whose host is imported.
        notes: takes a line a data set.
        skipping: whether the training leaves out what cannot be loaded.

    Raises:
        UsageError: naming the first errors and the way on.
    """
    splits = [split for split in ("train", "val") if cfg.get(f"{split}_dataloader")]
    try:
        findings = check_sample(cfg, splits=splits, skipped=["train"] if skipping else [])
    except DataError as error:
        raise UsageError(
            f"{error}\n"
            f"All of them: {command('check_data.py', 'CONFIG')}, with this --data-root and these "
            "--cfg-options.\n"
            "--skip-broken leaves out what cannot be loaded, in training; --no-check begins all "
            "the same"
        ) from error
    for line in format_summary(findings).splitlines():
        notes.say(line)


def _root_of(value: object, roots: Iterable[str]) -> str | None:
    """Find the deepest of some folders that a path lies in, whole names compared."""
    if not isinstance(value, str):
        return None
    inside = [root for root in roots if root and value.startswith(root.rstrip("/") + "/")]
    return max(inside, key=len, default=None)


def _places(root: str, old: str) -> Iterator[str]:
    names = [name for name in old.replace(os.sep, "/").split("/") if name not in ("", ".", "..")]
    for start in range(len(names), -1, -1):
        yield os.path.join(root, *names[start:])


def _missing(dataset: dict, root: str) -> str:
    """Say which file of a data set is not there, or nothing; object stores are not asked."""
    if "://" in root:
        return ""
    if dataset.get("ann_file"):
        path = os.path.join(root, dataset["ann_file"])
        if not os.path.isfile(path):
            return f"{path} does not exist (the data set's ann_file)"
    for name, prefix in (dataset.get("data_prefix") or {}).items():
        path = os.path.join(root, prefix or "")
        if not os.path.isdir(path):
            return f"{path} does not exist (the data set's data_prefix, {name})"
        with os.scandir(path) as entries:
            if next(entries, None) is None:
                return f"{path} is empty"
    return ""


def _ways_out() -> str:
    offline = {"--data-root": "data/scenes"}
    if os.path.basename(sys.argv[0]) == "train.py":
        offline["--weights"] = "none"
    return "\n".join(
        [
            "Mend the name in the config, or say where the data lies:",
            f"  {command_again({'--data-root': 'DIR'})}",
            "or draw the offline data set, which every config of this repository runs on:",
            f"  {command('make_scenes.py', 'data/scenes', '--images', '1000', '--seed', '0')}",
            f"  {command_again(offline)}",
        ]
    )
