"""What a job has done so far, kept in its folder, so that a second run goes on from there.

`run.json` says what was asked of whom. `parts/NAME.jsonl` is written when all else of a picture
is: a first line about the picture, then its instances, one a line.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import nn

from swin_mm.inference.errors import InferenceError
from swin_mm.inference.pictures import Picture
from swin_mm.inference.writing import write_json, write_lines

RUN, PARTS = "run.json", "parts"
_LOCK = ".lock"


class Record:
    """The record of a job; enter it, and nobody else writes into the folder.

    Args:
        out: the folder, which is made.
        asked: what results depend on, by name; another run's must be the same.
        force: forget what an earlier run did.

    Raises:
        InferenceError: if the folder cannot be made.
    """

    def __init__(self, out: str, asked: Mapping[str, Any], *, force: bool = False) -> None:
        self._out = out
        self._asked = dict(asked)
        self._force = force
        self._lock: Any = None

    def __enter__(self) -> Record:
        """Begin, or go on.

        Raises:
            InferenceError: if the folder cannot be used, holds another job's results, or another
                process writes into it.
        """
        try:
            os.makedirs(os.path.join(self._out, PARTS), exist_ok=True)
            self._lock = open(os.path.join(self._out, PARTS, _LOCK), "w")
        except OSError as error:
            raise InferenceError(f"{self._out} cannot be made: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise InferenceError(
                f"another process is writing into {self._out}; wait for it, or name another folder"
            ) from error
        try:
            self._begin()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        """Let others write."""
        self._lock.close()

    def done(self, picture: Picture) -> Mapping[str, Any] | None:
        """Say what is known of a picture that was done, `None` if it must be looked at.

        One that has changed since, is called otherwise, or whose results were deleted, must be.
        """
        try:
            with open(self._part(picture), encoding="utf-8") as file:
                head = json.loads(file.readline())
            now = _state(picture)
            same = {key: head.get(key) for key in now} == now
            there = all(os.path.exists(os.path.join(self._out, name)) for name in _files(head))
            return head if there and same else None
        except (OSError, ValueError, KeyError, AttributeError):  # gone, or no record
            return None

    def add(
        self,
        picture: Picture,
        entries: Iterable[Mapping[str, Any]],
        *,
        files: Sequence[str],
        frames: Mapping[str, int] | None = None,
        broken: str = "",
    ) -> None:
        """Note that all results of a picture are written.

        Args:
            picture: which.
            entries: its instances as COCO's results have them.
            files: what was written, in the folder.
            frames: of a video, folders there and how many label pictures were written into each.
            broken: why the rest of a video could not be looked at.
        """
        head = {**_state(picture), "files": list(files), "frames": dict(frames or {})}
        head["broken"] = broken
        lines = (json.dumps(entry) for entry in entries)
        write_lines(self._part(picture), _after(json.dumps(head), lines))

    def gather(
        self, pictures: Iterable[Picture], path: str, *, surer_than: float = 0.0
    ) -> tuple[int, int]:
        """Write the instances of all pictures that are done into one JSON list.

        Returns:
            How many there are, and how many of them have a score above a bound.
        """
        found = sure = 0

        def counted() -> Iterator[str]:
            nonlocal found, sure
            for line in self._entries(pictures):
                found += 1
                sure += json.loads(line).get("score", 0.0) > surer_than
                yield line

        write_lines(path, _as_list(counted()))
        return found, sure

    def _begin(self) -> None:
        path = os.path.join(self._out, RUN)
        if self._force:
            self._forget()
        elif os.path.exists(path):
            try:
                with open(path, encoding="utf-8") as file:
                    before = json.load(file)
            except ValueError:
                before = None
            before = before if isinstance(before, dict) else {}
            changed = [key for key in self._asked if before.get(key) != self._asked[key]]
            if changed:
                there = ", ".join(f"{key} {_told(before.get(key))}" for key in changed)
                now = ", ".join(f"{key} {_told(self._asked[key])}" for key in changed)
                raise InferenceError(
                    f"{self._out} holds results of another run: there {there}; now {now}. Name "
                    "another folder, or --force to begin anew"
                )
            return
        write_json(path, self._asked)

    def _forget(self) -> None:
        """Delete what an earlier job wrote, and nothing else that lies there."""
        for name in os.listdir(os.path.join(self._out, PARTS)):
            if name == _LOCK:
                continue
            path = os.path.join(self._out, PARTS, name)
            try:
                with open(path, encoding="utf-8") as file:
                    head = json.loads(file.readline())
                written = [os.path.join(self._out, one) for one in _files(head)]
            except (OSError, ValueError, KeyError, AttributeError, TypeError):  # no record
                head, written = {"frames": {}}, []
            os.remove(path)  # first: what is not noted is done again
            for one in written:
                with suppress(FileNotFoundError):
                    os.remove(one)
            for folder in head["frames"]:
                with suppress(OSError):  # somebody else's files are in it
                    os.rmdir(os.path.join(self._out, folder))

    def _entries(self, pictures: Iterable[Picture]) -> Iterator[str]:
        for picture in pictures:
            if self.done(picture) is not None:
                with open(self._part(picture), encoding="utf-8") as file:
                    file.readline()
                    yield from (line.rstrip("\n") for line in file)

    def _part(self, picture: Picture) -> str:
        return os.path.join(self._out, PARTS, f"{picture.name}.jsonl")


def require_room(out: str, results: Iterable[str], *, force: bool = False) -> None:
    """Check that a folder, which need not exist yet, has no results whose origin nobody knows.

    Args:
        out: the folder.
        results: names that results have.
        force: whether older results may lie there; those of the same name are replaced.

    Raises:
        InferenceError: if it has, or is a file.
    """
    if not os.path.exists(out):
        return
    if not os.path.isdir(out):
        raise InferenceError(f"{out} must be a folder for results, but is a file")
    there = sorted(name for name in results if _holds_some(os.path.join(out, name)))
    if there and not force and not os.path.exists(os.path.join(out, RUN)):
        raise InferenceError(
            f"results lie in {out} already ({', '.join(there)}), without the {RUN} by which a run "
            "could go on; name another folder, or --force to replace those of the same name"
        )


def frame_name(folder: str, number: int) -> str:
    """Name the label picture of a video's frame, counted from 0."""
    return f"{folder}/{number:06d}.png"


def fingerprint(model: nn.Module) -> str:
    """Tell weights from others, wherever their file lies: sixteen digits."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()[:16]


def fingerprint_of_text(text: str) -> str:
    """Tell a text from others: sixteen digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _files(head: Mapping[str, Any]) -> list[str]:
    """All files that a picture's record says were written."""
    numbered = (
        (folder, number) for folder, many in head["frames"].items() for number in range(many)
    )
    return [*head["files"], *(frame_name(folder, number) for folder, number in numbered)]


def _holds_some(path: str) -> bool:
    """Whether a file is there, or a folder with more in it than a lock."""
    return bool(set(os.listdir(path)) - {_LOCK}) if os.path.isdir(path) else os.path.exists(path)


def _state(picture: Picture) -> dict[str, Any]:
    """What shows that a file is the same as before."""
    found = os.stat(picture.path)
    return {
        "path": os.path.abspath(picture.path),
        "bytes": found.st_size,
        "modified": found.st_mtime_ns,
        "image_id": picture.image_id,
    }


def _after(first: str, lines: Iterable[str]) -> Iterator[str]:
    yield first
    yield from lines


def _as_list(lines: Iterable[str]) -> Iterator[str]:
    """Write JSON's list around lines, a comma behind all but the last."""
    held = None
    yield "["
    for line in lines:
        if held is not None:
            yield f"{held},"
        held = line
    if held is not None:
        yield held
    yield "]"


def _told(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
