"""A bar with count, rate and time left, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
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
    """Pictures a second: the latest ones while it runs, all of them at the end."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.0f}/s" if speed else "", style="cyan")


class Counter:
    """Counts the pieces of a job that are done."""

    def __init__(self, progress: Progress, task: int) -> None:
        self._progress, self._task = progress, task

    def add(self, pieces: int) -> None:
        self._progress.advance(self._task, pieces)


@contextmanager
def bar(what: str, total: int, *, shown: bool) -> Iterator[Counter]:
    """Show how far a job of `total` pieces is; what it yields counts them."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TextColumn("took"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as progress:
        yield Counter(progress, progress.add_task(what, total=total))
