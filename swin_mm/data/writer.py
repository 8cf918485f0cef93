"""Write a world of scenes to a folder, in COCO's layout and in ADE20K's."""

import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from . import ade, coco
from .contact_sheet import contact_sheet
from .folders import MARKER, check_replaceable, fill_folder
from .scene import render_scene

_FIRST_ID = {"train": 1, "val": 1_000_001}  # a picture's id is the index of its scene
_SHEET = "contact_sheet.png"
_SHOWN = 20  # scenes on the contact sheet
_BATCH = 25  # pictures that a worker makes at a time
_SIDES = (64, 4096)  # px
# Labels do not gain by PNG's filters, and OpenCV (from 4.11) writes them thrice as fast without.
_UNFILTERED = (cv2.IMWRITE_PNG_FILTER, 8) if hasattr(cv2, "IMWRITE_PNG_FILTER") else ()


@dataclass(frozen=True)
class WrittenScenes:
    """Where a world of scenes was written.

    Attributes:
        root: what the configs' `--data-root` takes.
        train: count of pictures to learn from.
        val: count of held-out pictures.
        contact_sheet: a page of the first scenes with outlines and names, PNG.
    """

    root: Path
    train: int
    val: int
    contact_sheet: Path


@dataclass(frozen=True)
class _Batch:
    root: Path
    split: str
    image_ids: range
    seed: int
    size: tuple[int, int]


_Told = list[tuple[int, list[dict[str, Any]]]]


def write_scenes(
    folder: str | Path,
    *,
    train: int,
    val: int,
    seed: int = 0,
    size: tuple[int, int] = (320, 240),
    jobs: int = 1,
    force: bool = False,
    bars: Callable[[str, int], AbstractContextManager] | None = None,
) -> WrittenScenes:
    """Write scenes to a folder, all of them or nothing.

    The same arguments give the same bytes, whatever the number of jobs, and
    more pictures of a seed begin with the same ones.

    Args:
        folder: comes to hold `annotations`, `train2017`, `val2017` (COCO),
            `ADEChallengeData2016` and a contact sheet.
        train: count of pictures to learn from, 1 to 999 999.
        val: count of held-out pictures, other scenes of the same world, 1 to 999 999.
        seed: of the world, >= 0.
        size: width and height of every picture, px, each 64 to 4096.
        jobs: count of processes. Where it is more than one, the calling script
            needs its `if __name__ == "__main__":`.
        force: replace scenes that were written to the folder before.
        bars: shows how far it is, given what is counted and how much of it there is, as
            `swin_mm.progress.Bars`, whose `advance` is called.

    Raises:
        ValueError: an argument is out of its range.
        FileExistsError: the folder has content and `force` is not set, or content of others.
    """
    _check(train=train, val=val, seed=seed, size=size, jobs=jobs)
    root, counts = Path(folder), {"train": train, "val": val}
    check_replaceable(root, _files_of, force=force)
    with fill_folder(root) as draft:
        for part in (*coco.FOLDERS, *ade.FOLDERS):
            (draft / part).mkdir(parents=True)
        told: dict[str, _Told] = {split: [] for split in counts}
        with bars("scenes", train + val) if bars else nullcontext() as far:
            for batch, entries in _made(_batches(draft, counts, seed, size), jobs):
                told[batch.split] += entries
                if far is not None:
                    far.advance(len(entries))
        for split, entries in told.items():
            content = json.dumps(coco.instances(split, size, entries), separators=(",", ":"))
            (draft / coco.annotation_file(split)).write_text(content)
        shown = _ids("train", min(train, _SHOWN))
        with _one_thread():
            sheet = contact_sheet([render_scene(seed, image_id, size) for image_id in shown])
            _save(draft / _SHEET, sheet)
        facts = {"train": train, "val": val, "seed": seed, "size": list(size)}
        (draft / MARKER).write_text(json.dumps(facts) + "\n")
    return WrittenScenes(root, train, val, root / _SHEET)


def _ids(split: str, count: int) -> range:
    return range(_FIRST_ID[split], _FIRST_ID[split] + count)


def _batches(root: Path, counts: dict[str, int], seed: int, size: tuple[int, int]) -> list[_Batch]:
    return [
        _Batch(root, split, _ids(split, count)[first : first + _BATCH], seed, size)
        for split, count in counts.items()
        for first in range(0, count, _BATCH)
    ]


def _made(batches: list[_Batch], jobs: int) -> Iterator[tuple[_Batch, _Told]]:
    """Make batches, in order, in this process or in several."""
    jobs = min(jobs, len(batches))
    if jobs == 1:
        for batch in batches:
            yield batch, _make(batch)
        return
    # Not by fork: this process may run threads of torch or OpenCV.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        with _interrupts_ignored():
            made = pool.map(_make, batches)  # starts all processes
        try:
            yield from zip(batches, made, strict=True)
        except BrokenProcessPool as error:
            raise OSError(
                "Every process has to live to the end, but one of the "
                f"{jobs} was killed (out of memory?): try fewer jobs."
            ) from error


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Let processes that start now ignore Ctrl-C for good: who started them answers it."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may, and only it is interrupted
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _make(batch: _Batch) -> _Told:
    with _one_thread():
        return [(image_id, _write_picture(batch, image_id)) for image_id in batch.image_ids]


def _write_picture(batch: _Batch, image_id: int) -> list[dict[str, Any]]:
    """Draw one scene, write its three files and return its annotations for COCO."""
    scene = render_scene(batch.seed, image_id, batch.size)
    picture = batch.root / coco.picture_file(batch.split, image_id)
    _save(picture, scene.image, cv2.IMWRITE_JPEG_QUALITY, 92)
    _link(picture, batch.root / ade.picture_file(batch.split, image_id))
    labels = batch.root / ade.label_file(batch.split, image_id)
    _save(labels, scene.labels(), cv2.IMWRITE_PNG_COMPRESSION, 1, *_UNFILTERED)
    return coco.annotations(scene, image_id)


def _save(path: Path, image: np.ndarray, *options: int) -> None:
    done, data = cv2.imencode(path.suffix, image, options)
    if not done:
        raise RuntimeError(f"OpenCV could not encode {path.name}.")
    path.write_bytes(data.tobytes())


def _link(source: Path, target: Path) -> None:
    """Let a second name point to a file, or copy it where the disk knows no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep OpenCV to one thread: a job is a core, and threads cost more than these sizes gain."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def _files_of(facts: dict[str, Any]) -> set[str]:
    """All files of a world that its marker describes."""
    files = {MARKER, _SHEET}
    for split in _FIRST_ID:
        files.add(coco.annotation_file(split))
        for image_id in _ids(split, facts[split]):
            for place in (coco.picture_file, ade.picture_file, ade.label_file):
                files.add(place(split, image_id))
    return files


def _check(*, train: int, val: int, seed: int, size: tuple[int, int], jobs: int) -> None:
    for name, count in (("train", train), ("val", val)):
        if not 1 <= count < 1_000_000:
            raise ValueError(f"{name} pictures number 1 to 999999, not {count}.")
    if not all(_SIDES[0] <= side <= _SIDES[1] for side in size):
        raise ValueError(f"Sides are {_SIDES[0]} to {_SIDES[1]} px, not {size[0]}x{size[1]}.")
    if seed < 0:
        raise ValueError(f"A seed is 0 or more, not {seed}.")
    if jobs < 1:
        raise ValueError(f"Jobs are 1 or more, not {jobs}.")
