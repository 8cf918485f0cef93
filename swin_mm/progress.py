"""A bar with count, rate and time left, on stderr, and a second for what is large."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Rate(ProgressColumn):
    """Pieces a second, of late while it runs, of all at the end; below one, seconds a piece."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        rate = f"{speed:.0f}/s" if speed >= 100 else f"{speed:.1f}/s"
        return Text(rate if speed >= 1 else f"{1 / speed:.1f} s each", style="cyan")


class Bars:
    """Shows how far a job is; enter it.

    Args:
        what: is done.
        total: pieces of the job.
        done: of these, before it began.
        shown: whether anything is, or all is done in silence.
    """

    def __init__(self, what: str, total: int, *, done: int = 0, shown: bool = True) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TextColumn("took"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            speed_estimate_period=600,  # s; a large picture takes minutes
            disable=not shown,
        )
        self._job = self._progress.add_task(what, total=total, completed=done)
        self._inside: Any = None

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.end_inside()
        self._progress.stop()

    def advance(self, pieces: int = 1) -> None:
        """So many pieces more are done."""
        self.end_inside()
        self._progress.advance(self._job, pieces)

    def inside(self, what: str, done: int, total: int | None) -> None:
        """Show how far the piece at work is: its tiles, its frames."""
        if self._inside is None:
            self._inside = self._progress.add_task(escape(what), total=total)
        self._progress.update(self._inside, completed=done, total=total)

    def end_inside(self) -> None:
        """Take the second bar away."""
        if self._inside is not None:
            self._progress.remove_task(self._inside)
            self._inside = None

    def say(self, line: str) -> None:
        """Write a line above the bars."""
        self._progress.console.print(line, soft_wrap=True)
