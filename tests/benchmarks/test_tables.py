import json

import pytest
from bench.cells import Cell
from bench.plot import draw, mark_in, mark_of, save
from bench.results import Results
from bench.tables import full_table, read, said_machine, said_runs, short_table, unable

MAIN = {
    "worst difference": {"mmdet": 8.4e-07},
    "seconds": {
        "swin_mm": {"median": 1.0, "min": 0.9, "max": 1.1, "rounds": 3},
        "mmdet": {"median": 1.6, "min": 1.5, "max": 1.7, "rounds": 3},
        "floor": {"median": 0.8, "min": 0.8, "max": 0.8, "rounds": 3},
    },
    "mmdet / swin_mm": 1.6,
    "swin_mm / floor": 1.25,
    "peak MB": {"swin_mm": 300, "mmdet": 600},
    "memory swin_mm / mmdet": 0.5,
}
RUN = {"command": "go", "commit": "abc", "machine": "m", "threads": 2, "versions": {"torch": "2"}}


def cell(peer, task="inference", precision="fp32", case="800x1344 b1"):
    return Cell(task, precision, "tiny", case, peer)


@pytest.fixture
def folder(tmp_path):
    """Results of a few cells, in both files."""
    main = Results(tmp_path / "backbone.json", RUN)
    main.add(cell("mmdet"), MAIN)
    main.add(cell("mmdet", case="512x512 b1"), MAIN)
    alone = {"seconds": {"swin_mm": MAIN["seconds"]["swin_mm"]}, "why not": {"mmdet": "no bf16"}}
    main.add(cell("mmdet", precision="bf16"), alone)
    peers = Results(tmp_path / "backbone_peers.json", {**RUN, "commit": "def"})
    peers.add(cell("timm"), {"seconds": MAIN["seconds"], "timm / swin_mm": 2.034})
    for task in ("inference", "training"):
        peers.add(cell("openvino", task=task), {"why not": {"openvino": "busy"}})
    return tmp_path


def test_the_short_table_has_a_row_for_what_was_measured(folder):
    _, _, *rows = short_table(read(folder)).splitlines()
    assert rows == [
        "| inference, fp32 | 800x1344 b1 | 1.00 s | 1.60 | 2.03 | - | - | - | - | 1.25 | 0.50 |"
    ]


def test_the_full_table_has_a_row_for_every_pair_that_ran(folder):
    _, _, *rows = full_table(read(folder)).splitlines()
    assert rows[0] == (
        "| inference, fp32 | tiny | 800x1344 b1 | MMDetection | 1.00 (0.900 to 1.10) | "
        "1.60 (1.50 to 1.70) | 1.60 | 1.25 | 300 | 600 | 8e-07 |"
    )
    assert len(rows) == 4 and "512x512 b1" in rows[1]
    assert rows[2].count("| - ") == 6  # all but ours


def test_one_that_recomputes_has_a_row_for_each_of_mmdetections(folder):
    results = Results(folder / "backbone.json", RUN)
    seconds = {**MAIN["seconds"], "mmdet with_cp": MAIN["seconds"]["mmdet"]}
    entry = {**MAIN, "seconds": seconds, "mmdet with_cp / swin_mm": 1.7}
    results.add(cell("mmdet", "training with_cp"), entry)
    rows = full_table(read(folder)).splitlines()
    (row,) = [row for row in rows if "| MMDetection with_cp |" in row]
    assert row.startswith("| training with_cp, fp32 |") and "| 1.70 |" in row


def test_who_could_not_is_listed_once_with_the_reason(folder):
    assert unable(read(folder)).splitlines() == [
        "- MMDetection, inference, bf16: no bf16",
        "- OpenVINO, inference, fp32; training, fp32: busy",
    ]


def test_every_run_is_told(folder):
    told = said_runs(read(folder)).splitlines()
    assert told[0] == "- `backbone.json`, commit abc, m, 2 threads; torch 2: `go`"
    assert said_machine({**RUN, "kernels": "avx2"}) == "m, 2 threads, kernels: avx2"
    assert "commit def" in told[1]


def test_without_results_there_is_no_table(tmp_path):
    assert short_table(read(tmp_path)) == "" and not read(tmp_path).entries


def test_a_picture_shows_the_results_and_says_which(folder, tmp_path):
    figure = draw(read(folder))
    bars = [bar.get_height() for axes in figure.axes for bar in axes.patches]
    assert sorted(bars) == [1.6, 2.034]
    file = tmp_path / "picture.png"
    save(figure, file, mark_of(folder))
    assert mark_in(file) == mark_of(folder)
    main = folder / "backbone.json"
    main.write_text(json.dumps(json.loads(main.read_text()) | {"what": "else"}))
    assert mark_in(file) != mark_of(folder)


def test_memory_and_growth_are_drawn_from_the_results(folder):
    results = Results(folder / "backbone.json", RUN)
    results.add(cell("mmdet", "training"), MAIN)
    figure = draw(read(folder))
    heights = [bar.get_height() for bar in figure.axes[5].patches]
    assert heights == [300, 600]
    drawn = {line.get_label(): list(line.get_ydata()) for line in figure.axes[2].lines}
    assert drawn == {"swin_mm": [1.0], "MMDetection": [1.6]}
