"""The pages' tables and the picture are those of the results that are committed."""

import re

import print_backbone
from bench.plot import mark_in, mark_of
from bench.tables import Book, read
from print_backbone import BOOK, FULL, PARTS, PICTURE, RESULTS, filled


def test_the_pages_show_what_the_results_hold(root):
    book = read(root / RESULTS)
    for page in PARTS:
        text = (root / page).read_text(encoding="utf-8")
        assert text.count(f"<!-- {PARTS[page][0]} -->") == 2
        assert filled(page, text, book) == text, "python benchmarks/print_backbone.py --write"


def test_the_picture_is_drawn_from_the_results(root):
    if not read(root / RESULTS).entries:
        assert not (root / PICTURE).exists()
        return
    assert mark_in(root / PICTURE) == mark_of(root / RESULTS)


def test_a_changed_figure_changes_its_page(root):
    seconds = {name: {"median": 1, "min": 1, "max": 1} for name in ("swin_mm", "mmdet")}
    key = print_backbone.read(root / "nowhere")
    assert key == Book({}, {})
    entry = {"seconds": seconds, "mmdet / swin_mm": 1.5}
    run = {"command": "c", "commit": "0", "machine": "m", "threads": 2, "versions": {}}
    for page in PARTS:
        text = (root / page).read_text(encoding="utf-8")
        pages = [filled(page, text, book(entry | {"mmdet / swin_mm": r}, run)) for r in (1.5, 1.7)]
        assert "1.50" in pages[0] and "1.70" in pages[1]
        assert re.sub(r"1\.[57]0", "", pages[0]) == re.sub(r"1\.[57]0", "", pages[1])
    assert {BOOK, FULL} == set(PARTS)


def book(entry, run):
    from bench.cells import Cell

    cell = Cell("inference", "fp32", "tiny", "800x1344 b1", "mmdet")
    return Book({cell: entry}, {"backbone.json": [run]})
