"""Curves as SVG that takes its colours from the page, in the light and in the dark."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from swin_mm.engine.loss_curve import smooth
from swin_mm.reporting.logs import Row, RunLog

SERIES = 8  # colours that the page has
_INK, _QUIET, _LINE = "#010101", "#020202", "#030303"  # stand for the page's own colours
_COLOURS = tuple(f"#0{number}0404" for number in range(SERIES))
_POINTS = 600  # of a curve; more are drawn into one another
_SMOOTHED = 100  # points from which on the total loss is smoothed

AVERAGE_PRECISION = re.compile(r"(?:bbox|segm)_mAP")
_NOTHING = -1.0  # what COCO's tools log where the data has nothing of the kind, as large objects
_AP_NAMES = {"mAP": "AP", "mAP_50": "AP50", "mAP_75": "AP75"}
_AP_NAMES |= {f"mAP_{size[0]}": f"AP {size}" for size in ("small", "medium", "large")}
# Beside the metrics of a validation.
_NO_METRICS = {"step", "iter", "epoch", "time", "data_time", "memory"}


@dataclass(frozen=True)
class Entry:
    """A line of a chart's legend: its colour on the page, its name, its last value."""

    colour: int
    name: str
    last: str


@dataclass(frozen=True)
class Chart:
    """A chart: a title, an SVG, which name belongs to which colour, and a remark or none.

    There is no SVG where there is one point.
    """

    title: str
    svg: str
    legend: tuple[Entry, ...]
    remark: str = ""


def draw_charts(run: RunLog) -> list[Chart]:
    """Draw losses, learning rate, metrics and time over the iterations, as far as they are there.

    Args:
        run: with at least one row.
    """
    charts = []
    losses, left_out = _losses(run.train)
    if losses:
        more = f"{left_out} smaller parts are not drawn." if left_out else ""
        charts.append(_draw("Loss", run.train, losses, bold="loss", remark=more))
    for title, names in _metrics(run.validations).items():
        charts.append(_draw(title, run.validations, names))
    if _has(run.train, "lr"):
        charts.append(_draw("Learning rate", run.train, {"lr": "first group"}))
    times = {"time": "iteration", "data_time": "waiting for data"}
    # What is logged first holds the warm-up, often many times as long.
    rows = run.train[1:] if len(run.train) > 3 else run.train
    if drawn := {key: name for key, name in times.items() if _has(rows, key)}:
        left = "The first logged value is left out." if len(rows) < len(run.train) else ""
        charts.append(_draw("Seconds an iteration", rows, drawn, remark=left))
    return sorted(charts, key=lambda chart: not chart.svg)


def _has(rows: Sequence[Row], key: str) -> bool:
    return any(key in row for row in rows)


def _losses(rows: Sequence[Row]) -> tuple[dict[str, str], int]:
    """The total and its largest parts, as many as there are colours, and how many are left out."""
    parts: dict[str, float] = {}
    for row in rows:
        for key, value in row.items():
            if "loss" in key and key != "loss" and math.isfinite(value):
                parts[key] = max(parts.get(key, 0.0), value)
    # Auxiliary decoder layers, `d3.loss_cls`, come after the losses proper.
    ranked = sorted(parts, key=lambda key: ("." in key, -parts[key]))
    kept = sorted(ranked[: SERIES - 1], key=list(parts).index)
    total = {"loss": "total"} if _has(rows, "loss") else {}
    return total | {key: key for key in kept}, len(ranked) - len(kept)


def _metrics(rows: Sequence[Row]) -> dict[str, dict[str, str]]:
    """What validations measured, in charts of one kind each; values of single classes are not."""
    names: dict[str, dict[str, str]] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        if key in _NO_METRICS or key.endswith("_precision"):
            continue
        if AVERAGE_PRECISION.search(key) and all(row.get(key) in (None, _NOTHING) for row in rows):
            continue
        prefix, _, name = key.rpartition("/")
        kind, underscore, rest = name.partition("_")
        if underscore and kind in ("bbox", "segm"):
            title = {"bbox": "Box AP", "segm": "Mask AP"}[kind]
            name = _AP_NAMES.get(rest, rest)
        else:
            title = "Metrics" if not prefix else f"Metrics, {prefix}"
        if len(names.setdefault(title, {})) < SERIES:
            names[title][key] = name
    return names


def as_share(row: Row, key: str) -> float | None:
    """A metric in per cent, as papers have it; `None` where it is not finite, or there is none.

    MMDetection logs 0.46 where papers, and MMSegmentation, say 46.0.
    """
    value = row.get(key, math.nan)
    if not math.isfinite(value):
        return None
    if not AVERAGE_PRECISION.search(key):
        return value
    return None if value == _NOTHING else 100 * value


def _draw(
    title: str, rows: Sequence[Row], names: Mapping[str, str], *, bold: str = "", remark: str = ""
) -> Chart:
    figure = Figure(figsize=(5.2, 2.9), dpi=72, layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    legend: list[Entry] = []
    others = [key for key in names if key != bold]
    for key in [*others, *([bold] if bold in names else [])]:
        steps, values = _course(rows, key)
        number = list(names).index(key)
        ink = _INK if key == bold else _COLOURS[number]
        marker = "o" if np.isfinite(values).sum() < 8 else None
        look = {"color": ink, "marker": marker, "markersize": 4, "solid_joinstyle": "round"}
        if key == bold and len(values) >= _SMOOTHED and np.isfinite(values).all():
            axes.plot(*_thin(steps, values), color=ink, alpha=0.25, linewidth=0.8)
            values = smooth(values, len(values) // 25)
            remark = f"Bold: the mean of {len(steps) // 25} logged values. {remark}".strip()
        axes.plot(*_thin(steps, values), **look, linewidth=2 if key == bold else 1.3)
        last = f"{values[-1]:.4g}" if np.isfinite(values[-1]) else "not finite"
        legend.append(Entry(-1 if key == bold else number, names[key], last))
    legend.sort(key=lambda entry: entry.colour)
    if len(rows) == 1:
        only = f"Logged once, at iteration {rows[0]['step']:.0f}: there is no curve."
        return Chart(title, "", tuple(legend), f"{only} {remark}".strip())
    _dress(axes, steps_end=max(row["step"] for row in rows))
    return Chart(title, _svg(figure), tuple(legend), remark)


def _course(rows: Sequence[Row], key: str) -> tuple[np.ndarray, np.ndarray]:
    there = [(row["step"], as_share(row, key)) for row in rows if key in row]
    steps, values = (np.array(column, dtype=float) for column in zip(*there, strict=True))
    return steps, values


def _thin(steps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep every n-th point, and the last."""
    chosen = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), _POINTS)).round())
    return steps[chosen.astype(int)], values[chosen.astype(int)]


def _dress(axes: matplotlib.axes.Axes, *, steps_end: float) -> None:
    axes.set_xlim(0, steps_end * 1.02)
    bottom, top = axes.get_ylim()
    if bottom > 0 or (bottom < 0 and min(_lowest(axes), 0.0) == 0.0):
        axes.set_ylim(0, top)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.ticklabel_format(axis="both", style="plain", useOffset=False)
    if 0 < axes.get_ylim()[1] < 0.01:
        axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    axes.grid(axis="y", color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("iteration", color=_QUIET, fontsize=10)
    axes.tick_params(colors=_QUIET, labelsize=10, length=0)
    axes.yaxis.get_offset_text().set_color(_QUIET)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(_LINE)


def _lowest(axes: matplotlib.axes.Axes) -> float:
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.lines])
    return float(np.nanmin(values)) if np.isfinite(values).any() else 0.0


def _svg(figure: Figure) -> str:
    """Write a figure as an SVG element whose colours are the page's, letters as text."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    # Names that several charts on one page share, and rules that would hold for all of it.
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    for _ in ("width", "height"):
        svg = re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", svg)
    variables = {_INK: "ink", _QUIET: "quiet", _LINE: "line"}
    variables |= {colour: f"s{number}" for number, colour in enumerate(_COLOURS)}
    for colour, name in variables.items():
        svg = svg.replace(colour, f"var(--{name})")
    return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)
