"""The last lines of a run."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from swin_mm.engine.report import RunRecord, format_report


def test_it_tells_metrics_by_their_common_names_and_where_things_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.pth", "1.png", "2.png"):
        (tmp_path / name).touch()
    text = format_report(
        "Done.",
        metrics={"coco/bbox_mAP": 0.4321, "coco/segm_mAP": 0.4, "coco/bbox_mAP_s": 0.1},
        paths={
            "checkpoint": str(tmp_path / "a.pth"),
            "predictions": [str(tmp_path / "1.png"), str(tmp_path / "2.png")],
            "loss curve": str(tmp_path / "none.png"),
        },
    )
    assert text.splitlines() == [
        "",
        "Done.",
        "  box AP         0.4321",
        "  mask AP        0.4",
        "  checkpoint     a.pth",
        "  predictions    1.png",
        "                 2.png",
    ]


def test_metrics_it_does_not_know_are_told_as_they_are() -> None:
    assert "  my/score       3" in format_report("Done.", metrics={"my/score": 3.0}, paths={})


def test_metrics_are_missing_only_where_nothing_was_found() -> None:
    assert "no metrics" in format_report("Done.", metrics={}, paths={})
    assert "no metrics" not in format_report("Done.", metrics=None, paths={})


@pytest.mark.parametrize(
    ("first", "last", "span"),
    [
        (0, 1, "1 iteration"),
        (0, 8, "8 iterations"),
        (4, 8, "iterations 5 to 8"),
        (8, 8, "nothing more, all 8 iterations were done,"),
    ],
)
def test_a_run_tells_what_it_trained_itself(first: int, last: int, span: str) -> None:
    record = RunRecord()
    record.before_train(SimpleNamespace(iter=first))
    record.after_train(SimpleNamespace(iter=last))
    assert record.span == span
