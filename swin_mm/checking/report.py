"""What a check found, for people and for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from swin_mm.checking.faults import Findings, Group
from swin_mm.checking.rules import Level

SHOWN = 5  # faults of a rule that are named
_FIRST = 2  # of these before a training, where the checker tells the rest


def print_report(findings: Sequence[Findings], *, shown: int = SHOWN) -> None:
    """Print what was found, by data set and rule, errors first."""
    console = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    for found in findings:
        console.print(Text(f"{_title(found)}\n  {_counts(found)}", style="bold"))
        for group in found.groups():
            head, *lines = _lines(group, shown)
            colour = "red" if group.level is Level.ERROR else "yellow"
            console.print(Text(f"  {head}", style=colour))
            for line in lines:
                console.print(Text(f"    {line}"))
        if not found.groups():
            console.print(Text("  nothing to report", style="green"))
        console.print()
    errors, notes = (
        sum(getattr(found, what) for found in findings) for what in ("errors", "notes")
    )
    console.print(Text(f"{_count(errors, 'error')}, {_count(notes, 'note')}", style="bold"))


def format_first(groups: Iterable[tuple[Findings, Group]]) -> str:
    """Name the first faults of each rule, for a training that will not begin."""
    lines = ["the data has errors:"]
    for found, group in groups:
        head, *rest = _lines(group, _FIRST)
        lines += [f"  {'/'.join(found.splits)}: {head}", *(f"    {line}" for line in rest)]
    return "\n".join(lines)


def format_summary(findings: Sequence[Findings]) -> str:
    """Say in a line a data set what was checked and how it went, for the log of a training."""
    lines = []
    for found in findings:
        groups = ", ".join(f"{group.rule.name} {group.count:,}" for group in found.groups())
        lines.append(f"Checked {_title(found)}: {_counts(found)}; {groups or 'no fault'}")
    return "\n".join(lines)


def write_json(findings: Sequence[Findings], path: str) -> None:
    """Write what was found as JSON, beside the file first."""
    content = {
        "errors": sum(found.errors for found in findings),
        "notes": sum(found.notes for found in findings),
        "data_sets": [
            {
                "splits": list(found.splits),
                "name": found.name,
                "pictures": found.pictures,
                "looked_at": found.looked_at,
                "annotations": found.annotations,
                "rules": [_as_dict(group) for group in found.groups()],
            }
            for found in findings
        ],
    }
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    os.replace(part, path)


def _title(found: Findings) -> str:
    return f"{'/'.join(found.splits)}: {found.name}"


def _counts(found: Findings) -> str:
    looked = "all" if found.looked_at == found.pictures else f"{found.looked_at:,}"
    told = f"{found.pictures:,} pictures, {looked} looked at"
    return f"{told}; {found.annotations:,} annotations" if found.annotations else told


def _lines(group: Group, shown: int) -> list[str]:
    rule = group.rule
    lines = [f"{group.level.value} {rule.name}, {group.count:,}: {rule.text}"]
    lines += [str(fault) for fault in group.first[:shown]]
    if group.count > shown:
        lines.append(f"... and {group.count - shown:,} more")
    return [*lines, f"cure: {rule.cure}"]


def _as_dict(group: Group) -> dict:
    return {
        "rule": group.rule.name,
        "level": group.level.value,
        "count": group.count,
        "text": group.rule.text,
        "cure": group.rule.cure,
        "first": [vars(fault) for fault in group.first],
    }


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
