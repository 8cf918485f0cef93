"""The last lines of a run."""

from pathlib import Path

import pytest

from swin_mm.engine.report import format_report


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
