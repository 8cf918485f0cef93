"""What a run left in its work dir, read into one course however often it was started."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from glob import escape, glob

Row = Mapping[str, float]

_STAMP = re.compile(r"^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) - ")
_EPOCH = re.compile(r"Epoch\(train\)\s*\[\s*(\d+)\]\[\s*\d+/(\d+)\]")
_TRAIN = re.compile(r"(?:Iter|Epoch)\(train\).*?\beta: (.+?)\s{2}")
_RULE = "-" * 60
_MOST_STEPS = 2**53  # beyond which a float does not tell one from the next


@dataclass(frozen=True)
class Text:
    """What only the log file of one start tells.

    Attributes:
        began: its first line.
        ended: its last line.
        environment: as MMEngine logs it, or nothing.
        epoch_length: iterations of an epoch; 0 where the run does not count epochs.
        eta: what MMEngine last said of the time left, or nothing.
    """

    began: datetime | None = None
    ended: datetime | None = None
    environment: str = ""
    epoch_length: int = 0
    eta: str = ""

    @property
    def lasted(self) -> timedelta:
        """From the first line to the last."""
        return self.ended - self.began if self.began and self.ended else timedelta()


@dataclass(frozen=True)
class Start:
    """One start of a run: a folder that MMEngine named after the time.

    Attributes:
        name: of the folder.
        train: what was logged in training, by `step`, the iteration.
        validations: metrics, `step` being the iteration after which they were taken.
        broken: lines that could not be read, as a kill leaves them.
        text: of the log file.
    """

    name: str
    train: tuple[Row, ...]
    validations: tuple[Row, ...]
    broken: int
    text: Text


@dataclass(frozen=True)
class RunLog:
    """The whole course: what a later start did again takes the place of what was done before.

    Attributes:
        starts: in the order of time.
        train: as in :class:`Start`, steps ascending.
        validations: as in :class:`Start`, steps ascending.
        remarks: what a reader must know, a sentence each.
    """

    starts: tuple[Start, ...]
    train: tuple[Row, ...]
    validations: tuple[Row, ...]
    remarks: tuple[str, ...] = field(default=())

    @property
    def last_step(self) -> int:
        """The last iteration that was logged; 0 before the first."""
        return int(self.train[-1]["step"]) if self.train else 0

    @property
    def last_text(self) -> Text:
        """The log of the last start."""
        return self.starts[-1].text if self.starts else Text()


def read_run(work_dir: str) -> RunLog:
    """Read all starts of a run.

    Folders in which nothing was trained or validated, such as those of plain tests, are left out
    unless there is no other.

    Args:
        work_dir: with a folder for each start, `vis_data/scalars.json` and a `.log` in it.
    """
    folders = sorted(
        {os.path.dirname(path) for path in glob(f"{escape(work_dir)}/*/vis_data")}
        | {os.path.dirname(path) for path in glob(f"{escape(work_dir)}/*/*.log")}
    )
    starts = [_read_start(folder) for folder in folders]
    told = [start for start in starts if start.train or start.validations]
    return _merge(told or starts[-1:])


def _read_start(folder: str) -> Start:
    name = os.path.basename(folder)
    text = _read_text(os.path.join(folder, f"{name}.log"))
    path = os.path.join(folder, "vis_data", "scalars.json")
    train: list[Row] = []
    validations: list[Row] = []
    broken = 0
    for line in _lines(path):
        try:
            row = json.loads(line)
            row["step"] = int(row["step"])
            if not 0 <= row["step"] < _MOST_STEPS:
                raise ValueError("no run counts so")
        # What a kill, or somebody's own logger, leaves may be any text; Infinity is read as JSON.
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            broken += bool(line.strip())
            continue
        numbers = {key: value for key, value in row.items() if _is_number(value)}
        if "lr" in row or "loss" in row:
            train.append(numbers)
        else:
            last = train[-1]["step"] if train else 0
            validations.append({**numbers, "step": _iteration(row["step"], last, text)})
    return Start(name, tuple(train), tuple(validations), broken, text)


def _iteration(step: int, last: float, text: Text) -> int:
    """Tell after which iteration a validation was: MMEngine may have counted it in epochs."""
    if step >= last:
        return step
    return max(step * text.epoch_length, int(last))


def _is_number(value: object) -> bool:
    """Whether it is a number that a float holds."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _lines(path: str) -> Iterable[str]:
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf-8", errors="replace") as file:
        yield from file


def _read_text(path: str) -> Text:
    stamps: list[str] = []
    environment: list[str] = []
    inside, length, eta = False, 0, ""
    for line in _lines(path):
        if match := _STAMP.match(line):
            stamps = [*stamps[:1], match[1]]
            inside = False
            if match := _TRAIN.search(line):
                eta = match[1]
            if match := _EPOCH.search(line):
                length = int(match[2])
        if line.startswith("System environment:") and not environment:
            inside = True
        if inside:
            environment.append(line.rstrip())
    moments = [_moment(stamp) for stamp in stamps] or [None]
    block = "\n".join(environment).strip().removesuffix(_RULE).strip()
    return Text(moments[0], moments[-1], block, length, eta)


def _moment(stamp: str) -> datetime | None:
    try:
        return datetime.strptime(stamp, "%Y/%m/%d %H:%M:%S")
    except ValueError:  # a month 13: two processes wrote one line
        return None


def _merge(starts: Iterable[Start]) -> RunLog:
    starts = tuple(starts)
    train: list[Row] = []
    validations: list[Row] = []
    remarks = []
    for start in starts:
        if start.broken:
            lines = "line" if start.broken == 1 else "lines"
            remarks.append(
                f"{start.name}: {start.broken} {lines} of scalars.json could not be read and "
                f"{'is' if start.broken == 1 else 'are'} left out, as after a kill."
            )
        if start.train and train:
            first = start.train[0]["step"]
            again = [row for row in train if row["step"] >= first]
            if len(again) == len(train):
                remarks.append(f"{start.name} began anew: what was trained before is not shown.")
            elif again:
                remarks.append(
                    f"{start.name} went on from before iteration {first:.0f}: iterations up to "
                    f"{again[-1]['step']:.0f} were trained twice, the later course is shown."
                )
            train = [row for row in train if row["step"] < first]
            validations = [row for row in validations if row["step"] < first]
        train += _once(start.train)
        validations = [*_once([*validations, *start.validations])]
    bad = [row["step"] for row in train if not math.isfinite(row.get("loss", 0.0))]
    if bad:
        remarks.append(
            f"The loss is not finite at {len(bad)} of {len(train)} logged iterations, the first "
            f"of them {bad[0]:.0f}; the curves have gaps there."
        )
    return RunLog(starts, tuple(train), tuple(validations), tuple(remarks))


def _once(rows: Iterable[Row]) -> Iterable[Row]:
    """Keep the last row of each step, steps ascending."""
    by_step = {row["step"]: row for row in rows}
    return [by_step[step] for step in sorted(by_step)]
