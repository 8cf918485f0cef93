"""Print the tables of docs/checkpoints.md from the layouts and from what the peers saved.

python docs/print_layouts.py            prints both tables
python docs/print_layouts.py --write    puts them into docs/checkpoints.md
"""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/support")]

from peer_fixtures import Fixture, picture, read_fixtures  # noqa: E402
from random_weights import worst_difference  # noqa: E402

import swin_mm  # noqa: E402
from swin_mm.checkpoints import (  # noqa: E402
    LAYOUTS,
    LoadReport,
    load_classifier,
    load_pretrained,
)
from swin_mm.checkpoints.formats import Layout  # noqa: E402

PAGE = Path(__file__).with_name("checkpoints.md")


def layouts_table() -> str:
    """What every layout is told by, and what is done to its tensors."""
    lines = ["| layout | network | told by | what is done |", "| --- | --- | --- | --- |"]
    for tables in LAYOUTS.values():
        for table in tables.values():
            rules = dict.fromkeys(row.rule.name for row in table.rows if row.rule is not None)
            cells = [table.name, f"V{table.version}", _signs(table), "; ".join(rules) or "nothing"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def fixtures_table() -> str:
    """What became of a file of every peer, and how far our outputs are from the peer's."""
    lines = [
        "| file of | layout | loaded | reordered | resized | sizes, px | largest difference |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for fixture in read_fixtures():
        report, worst = _compare(fixture)
        sizes = ", ".join(f"{height}x{width}" for (height, width), _ in fixture.cases)
        numbers = [len(report.loaded), len(report.reordered), len(report.resized)]
        name = f"{fixture.peer} ({fixture.name})"
        cells = [name, f"{report.layout} V{report.version}", *map(str, numbers), sizes]
        lines.append(f"| {' | '.join([*cells, _bound(worst)])} |")
    return "\n".join(lines)


TABLES: dict[str, Callable[[], str]] = {"layouts": layouts_table, "peers": fixtures_table}


def _signs(table: Layout) -> str:
    signs = [f"`{table.signature}`"]
    signs += [f"has `{name}`" for name in table.needs]
    signs += [f"not `{name}`" for name in table.forbids]
    return ", ".join(signs)


def _compare(fixture: Fixture) -> tuple[LoadReport, float]:
    load = load_classifier if fixture.is_classifier else load_pretrained
    worst = 0.0
    for size, arguments in fixture.cases:
        network = getattr(swin_mm, fixture.network)(**arguments).eval()
        report = load(network, fixture.file)
        with torch.no_grad():
            found = network(picture(size))
        ours = [found] if torch.is_tensor(found) else found
        worst = max([worst, *map(worst_difference, ours, fixture.outputs(size))])
    return report, worst


def _bound(difference: float) -> str:
    """Round up to a power of ten: the last digits differ from processor to processor."""
    return "none" if difference == 0 else f"< 1e{math.ceil(math.log10(difference)):d}"


def filled(page: str) -> str:
    """Put the tables between their marks."""
    for name, table in TABLES.items():
        mark = f"<!-- {name} -->"
        page = re.sub(f"{mark}.*?{mark}", lambda _: f"{mark}\n{table()}\n{mark}", page, flags=re.S)  # noqa: B023
    return page


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n\n".join(table() for table in TABLES.values()))
