"""Curves of a run, as the page holds them."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

from swin_mm.reporting.charts import Chart, draw_charts
from swin_mm.reporting.logs import RunLog


def drawn(train: list[dict], validations: list[dict] | None = None) -> dict[str, Chart]:
    charts = draw_charts(RunLog((), tuple(train), tuple(validations or ())))
    return {chart.title: chart for chart in charts}


def test_a_run_has_charts_of_what_it_logged(steps: Callable) -> None:
    validations = [{"coco/bbox_mAP": 0.1, "mIoU": 40.0, "step": step} for step in (2, 4)]
    charts = drawn(steps(1, 2, 3, 4), validations)
    assert list(charts) == ["Loss", "Box AP", "Metrics", "Learning rate", "Seconds an iteration"]
    assert [(one.name, one.last) for one in charts["Box AP"].legend] == [("AP", "10")]  # per cent
    assert [(one.name, one.last) for one in charts["Metrics"].legend] == [("mIoU", "40")]
    assert "first logged value is left out" in charts["Seconds an iteration"].remark


def test_charts_are_whole_svgs_that_share_no_name_and_no_rule(steps: Callable) -> None:
    for chart in drawn(steps(1, 2, 3, 4)).values():
        root = ElementTree.fromstring(chart.svg)
        assert "viewBox" in root.attrib
        assert not {"width", "height"} & root.attrib.keys()
        assert not root.findall(".//{*}style") + root.findall(".//{*}g[@id]")


def test_charts_have_no_colour_but_the_pages(steps: Callable) -> None:
    svg = drawn([{**row, "loss_cls": 0.5} for row in steps(1, 2, 3)])["Loss"].svg
    assert {"var(--ink)", "var(--quiet)", "var(--line)", "var(--s1)"} <= {
        *re.findall(r"var\(--\w+\)", svg)
    }
    assert not re.findall(r"(?:fill|stroke): #(?!000000|ffffff)\w+", svg)


def test_one_row_is_figures_without_a_curve(steps: Callable) -> None:
    chart = drawn(steps(7))["Loss"]
    assert chart.svg == ""
    assert "Logged once, at iteration 7" in chart.remark
    assert chart.legend[0].last == "1"


def test_a_loss_that_is_not_finite_breaks_the_curve_off(steps: Callable) -> None:
    charts = drawn([*steps(1, 2), *steps(3, loss=float("nan"))])
    assert charts["Loss"].legend[0].last == "not finite"
    assert "nan" not in charts["Loss"].svg.lower()
    assert drawn(steps(1, 2, loss=float("nan")))["Loss"].legend[0].last == "not finite"


def test_of_many_losses_the_largest_proper_ones_are_drawn(steps: Callable) -> None:
    layers = {f"d{layer}.loss_cls": 9.0 for layer in range(10)}
    rows = [{**row, **layers, "loss_cls": 0.1} for row in steps(1, 2)]
    chart = drawn(rows)["Loss"]
    names = [one.name for one in chart.legend]
    assert names[0] == "total"
    assert "loss_cls" in names
    assert len(names) == 8
    assert chart.remark == "4 smaller parts are not drawn."


def test_a_long_course_is_smoothed_and_thinned(steps: Callable) -> None:
    chart = drawn(steps(*range(1, 20001)))["Loss"]
    assert "mean of 800 logged values" in chart.remark
    assert len(chart.svg) < 60_000


def test_sizes_that_the_data_has_not_are_no_curves() -> None:
    rows = [
        {"coco/bbox_mAP": value, "coco/bbox_mAP_l": -1.0, "step": step}
        for step, value in enumerate((0.5, float("nan")))
    ]
    (chart,) = drawn([], rows).values()
    assert [(one.name, one.last) for one in chart.legend] == [("AP", "not finite")]
    assert drawn([], [{"coco/bbox_mAP_m": -1.0, "step": 1}]) == {}


def test_single_classes_of_a_validation_are_no_curves() -> None:
    rows = [{"coco/cat_precision": 0.5, "coco/segm_mAP_50": 0.5, "step": step} for step in (1, 2)]
    charts = drawn([], rows)
    assert [one.name for one in charts["Mask AP"].legend] == ["AP50"]
    assert list(charts) == ["Mask AP"]
