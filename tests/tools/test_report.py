"""`tools/report.py` from the command line."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What a reader's browser makes of the page, written into its root.
PROBE = """<script>addEventListener("load", async () => {
  const images = [...document.images];
  await Promise.all(images.map((image) => image.decode()));
  document.querySelector("table.sortable thead th:last-child button").click();
  const table = document.querySelector("table.sortable");
  document.documentElement.dataset.probe = JSON.stringify({
    images: images.length,
    decoded: images.filter((image) => image.naturalWidth > 0).length,
    requests: performance.getEntriesByType("resource").map((entry) => entry.name),
    sorted: [...table.tBodies[0].rows].map((row) => Number(row.lastElementChild.dataset.value)),
    overflow: document.documentElement.scrollWidth - innerWidth,
  });
});</script></body>"""


@pytest.fixture(scope="module")
def run(trained: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the trained detector's work dir, for its own test to lie in."""
    assert trained.ended.code == 0, trained.ended.err
    folder = tmp_path_factory.mktemp("report") / "run"
    shutil.copytree(trained.work_dir, folder)
    config = folder / trained.config.name
    text = config.read_text()
    assert "score_thr=0.05" in text
    config.write_text(text.replace("score_thr=0.05", "score_thr=0.0"))  # it has learnt nothing yet
    return folder


@pytest.fixture
def page(run: Path, call: Callable) -> Path:
    """The page of that run with predictions, written once."""
    path = run / "report.html"
    if not path.exists():
        ended = call("report.py", str(run))
        assert ended.code == 0, ended.err
        assert f"Wrote {path}" in ended.out
    return path


def test_a_detectors_page_has_the_figures_of_its_test(page: Path, run: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "Finished: 2 iterations." in text
    assert "Predictions: iter_2.pth" in text
    (log,) = (run / "report").glob("*/*.json")
    logged = json.loads(log.read_text())
    means = re.findall(r"<tfoot>.*?data-value=\"([^\"]+)\"", text, re.DOTALL)
    assert [round(float(mean) / 100, 3) for mean in means] == [
        logged["coco/bbox_mAP"],
        logged["coco/segm_mAP"],
    ]
    assert "changed against" in text
    assert len(text) < 5_000_000


def test_a_second_page_needs_force_and_takes_predictions(
    page: Path, run: Path, call: Callable
) -> None:
    ended = call("report.py", str(run))
    assert ended.code == 2
    assert "--force replaces it" in ended.err
    found = str(run / "report" / "predictions.json")
    out = str(run / "other.html")
    words = [str(run), "--predictions", found, "--out", out, "--samples", "1"]
    assert call("report.py", *words).code == 0
    assert Path(out).read_text(encoding="utf-8").count("<img") == 2
    assert len(list((run / "report").glob("2*"))) == 1  # nothing was tested anew


def test_a_segmentors_page_has_its_classes(call: Callable, small: dict, tmp_path: Path) -> None:
    words = ["configs/upernet_swin_t.py", "--weights", "none", "--max-iters", "1"]
    call("train.py", *words, "--work-dir", str(tmp_path), *small["segmentation"])
    ended = call("report.py", str(tmp_path), "--samples", "2")
    assert ended.code == 0, ended.err
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    (log,) = (tmp_path / "report").glob("*/*.json")
    mean = re.search(r"<tfoot>.*?data-value=\"([^\"]+)\"", text, re.DOTALL)[1]
    assert round(float(mean), 2) == pytest.approx(json.loads(log.read_text())["mIoU"])
    assert text.count("<img") == 4


def test_a_run_whose_data_is_gone_says_the_command(
    run: Path, call: Callable, tmp_path: Path
) -> None:
    copy = tmp_path / "a run"
    shutil.copytree(run, copy)
    config = copy / "mask_rcnn_swin_t.py"
    text = re.sub(r"'[^']*tiny scenes[^']*'", "'/nowhere'", config.read_text())
    config.write_text(text)
    ended = call("report.py", str(copy), "--force")
    assert ended.code == 0, ended.err
    text = html.unescape((copy / "report.html").read_text(encoding="utf-8"))
    assert "no test data at /nowhere" in text.lower()
    assert f"tools/report.py '{copy}' --force --data-root DIR" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "there is no work dir nowhere"),
        (["tools"], "no run of MMEngine's began in tools"),
        (["RUN", "--samples", "61"], "must be 0 to 60"),
        (["RUN", "--no-predict", "--data-root", "DIR"], "--no-predict goes with neither"),
        (["RUN", "--checkpoint", "a", "--predictions", "b"], "give one of them"),
        (["RUN", "--force", "--checkpoint", "nowhere.pth"], "there is no checkpoint nowhere.pth"),
        (["RUN", "--force", "--predictions", "LICENSE"], "COCO's results format"),
        (["RUN", "--out", "nowhere/page.html"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_one_error_and_exit_code_two(
    words: list[str], says: str, run: Path, call: Callable
) -> None:
    ended = call("report.py", *(str(run) if word == "RUN" else word for word in words))
    assert ended.code == 2
    assert says in ended.err


@pytest.mark.parametrize("width", [1280, 420])
def test_a_browser_shows_the_page_without_an_error_or_a_request(
    page: Path, width: int, tmp_path: Path
) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is on PATH")
    probed = tmp_path / "page.html"
    text = page.read_text(encoding="utf-8")
    probed.write_text(text.replace("</body>", PROBE), encoding="utf-8")
    options = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run"
    options += " --disable-component-update --disable-sync --enable-logging=stderr --dump-dom"
    options += f" --virtual-time-budget=10000 --window-size={width},900"
    words = [browser, *options.split(), f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*words, probed.as_uri()], capture_output=True, text=True, check=False, timeout=120
    )
    probe = re.search(r'data-probe="([^"]*)"', shown.stdout)
    assert probe, shown.stderr[-2000:]
    result = json.loads(html.unescape(probe[1]))
    assert result["images"] == result["decoded"] == 4
    assert result["requests"] == []
    assert result["sorted"] == sorted(result["sorted"], reverse=True)
    assert result["overflow"] <= 0
    assert ":CONSOLE" not in shown.stderr
