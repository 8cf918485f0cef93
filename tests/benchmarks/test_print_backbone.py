"""The pages' tables and the picture are those of the results that are committed."""

import re

import print_backbone
import pytest
from bench.plot import mark_in, mark_of
from bench.tables import Book, read
from print_backbone import PARTS, PICTURE, RESULTS

of_each_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)


@of_each_part
def test_the_pages_show_what_the_results_hold(root, part):
    text = (root / part.page).read_text(encoding="utf-8")
    assert text.count(part.mark) == 2
    book = read(root / part.folder)
    assert part.fill(text, book) == text, "python benchmarks/print_backbone.py --write"


def test_the_picture_is_drawn_from_the_results(root):
    if not read(root / RESULTS).entries:
        assert not (root / PICTURE).exists()
        return
    assert mark_in(root / PICTURE) == mark_of(root / RESULTS)


@of_each_part
def test_a_changed_figure_changes_its_page(root, part):
    seconds = {name: {"median": 1, "min": 1, "max": 1} for name in ("swin_mm", "mmdet")}
    key = print_backbone.read(root / "nowhere")
    assert key == Book({}, {})
    entry = {"seconds": seconds, "mmdet / swin_mm": 1.5, "seconds to compile": 9}
    run = {
        "command": "--parts compiled",
        "commit": "0",
        "machine": "m",
        "threads": 2,
        "versions": {},
    }
    text = (root / part.page).read_text(encoding="utf-8")
    pages = [
        part.fill(text, book(entry | {"mmdet / swin_mm": r, "eager / swin_mm": r}, run))
        for r in (1.5, 1.7)
    ]
    assert "1.50" in pages[0] and "1.70" in pages[1]
    assert re.sub(r"1\.[57]0", "", pages[0]) == re.sub(r"1\.[57]0", "", pages[1])


def book(entry, run):
    from bench.cells import Cell

    beside = {"inference": "mmdet", "inference compiled": "eager"}
    cells = [Cell(task, "fp32", "tiny", "800x1344 b1", peer) for task, peer in beside.items()]
    return Book(dict.fromkeys(cells, entry), {"backbone.json": [run]})
