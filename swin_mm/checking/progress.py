"""A bar with count, rate and time left, on stderr."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

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

Thing = TypeVar("Thing")


class _Rate(ProgressColumn):
    """Pictures a second: the latest ones while it runs, all of them at the end."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.0f}/s" if speed else "", style="cyan")


def watch(things: Iterable[Thing], what: str, total: int, *, shown: bool) -> Iterator[Thing]:
    """Hand things through, and show how many there were."""
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
        job = progress.add_task(what, total=total)
        for thing in things:
            progress.advance(job)
            yield thing
