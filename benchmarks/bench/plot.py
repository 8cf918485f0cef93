"""Draw results as one picture: ratios, memory, and growth with the picture's area."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from bench.cells import AREAS, PEERS, SIZES, Cell
from bench.entrants import OURS
from bench.tables import FILES, NAMES, Book
from swin_mm.visualization.style import GRAY, INK, PALE, PAPER

MARK = "sha256 of the results"
COLOURS = {  # told apart without red and green (Okabe and Ito 2008)
    OURS: INK,
    "with_cp": "#56b4e9",
    "mmdet": "#d55e00",
    "timm": "#0072b2",
    "torchvision": "#e69f00",
    "huggingface": "#009e73",
    "openvino": "#a0468c",
    "onnxruntime": "#999999",
}
_PANELS = tuple(
    (task, precision)
    for task in ("inference", "training")
    for precision in ("fp32", "bf16 autocast")
)


def draw(book: Book) -> Figure:
    """Draw what of the results is there."""
    figure = Figure(figsize=(14, 8), dpi=100, facecolor=PAPER, layout="constrained")
    grid = figure.subplots(2, 3)
    panels = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1]]
    for axes, (task, precision) in zip(panels, _PANELS, strict=True):
        _draw_ratios(axes, book, task, precision)
    _draw_growth(grid[0, 2], book)
    _draw_memory(grid[1, 2], book)
    shown: dict[str, object] = {}
    for axes in grid.flat:
        _tidy(axes)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=len(shown) or 1,
        frameon=False,
    )
    return figure


def save(figure: Figure, file: Path, mark: str) -> None:
    """Write a figure as a small PNG that says which results it shows."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    told = PngInfo()
    told.add_text(MARK, mark)
    small = picture.quantize(256, kmeans=4, dither=Image.Dither.NONE)
    small.save(file, optimize=True, pnginfo=told)


def mark_of(folder: Path) -> str:
    """Return the fingerprint of a folder's results."""
    found = hashlib.sha256()
    for name in FILES:
        if (folder / name).exists():
            found.update((folder / name).read_bytes())
    return found.hexdigest()


def mark_in(file: Path) -> str:
    """Return the fingerprint of the results that a picture shows."""
    with Image.open(file) as picture:
        return picture.info.get(MARK, "")


def _draw_ratios(axes: Axes, book: Book, task: str, precision: str) -> None:
    series = {
        peer: [book.find(task, precision, case, peer).get(f"{peer} / {OURS}") for case in SIZES]
        for peer in PEERS
    }
    _draw_bars(axes, series, "{:.2f}")
    axes.axhline(1, color=INK, linewidth=1)
    axes.set_title(f"{task}, {precision}: time / swin_mm's", fontsize=10, color=INK)


def _draw_memory(axes: Axes, book: Book) -> None:
    """Bars of a training step's peak; those that recompute beside those that keep."""
    step = ("training", "fp32")
    recomputing = ("training with_cp", "fp32")
    ours = {
        OURS: [_peak(book.find(*step, case, "mmdet"), OURS) for case in SIZES],
        "with_cp": [_peak(book.find(*recomputing, case, "mmdet"), OURS) for case in SIZES],
    }
    theirs = {peer: [_peak(book.find(*step, case, peer), peer) for case in SIZES] for peer in PEERS}
    _draw_bars(axes, ours | theirs, "{:.0f}")
    axes.set_title("training, fp32: peak memory above the model, MB", fontsize=10, color=INK)


def _peak(entry: dict, name: str) -> float | None:
    return entry.get("peak MB", {}).get(name)


def _draw_bars(axes: Axes, series: dict[str, list[float | None]], form: str) -> None:
    """Draw a group of bars for each size; who has no figure anywhere gets no room."""
    series = {name: values for name, values in series.items() if any(v is not None for v in values)}
    width = 0.84 / max(len(series), 1)
    for place, (name, values) in enumerate(series.items()):
        for group, value in enumerate(values):
            if value is None:
                continue
            label = _label(name) if group == min(g for g, v in enumerate(values) if v) else None
            x = group + (place - (len(series) - 1) / 2) * width
            axes.bar(x, value, width * 0.92, color=COLOURS[name], label=label)
            axes.text(
                x, value, f" {form.format(value)}", rotation=90, fontsize=7, color=INK,
                ha="center", va="bottom",
            )  # fmt: skip
    axes.set_xticks(range(len(SIZES)), SIZES)
    axes.margins(y=0.16)


def _draw_growth(axes: Axes, book: Book) -> None:
    """Draw seconds by pixels, both in powers, so that growth with the area is a straight line."""
    for name in (OURS, "mmdet"):
        points = []
        for case in AREAS:
            entry = book.find("inference", "fp32", case, "mmdet")
            _, height, width = Cell("", "", "", case, "").shape
            if name in entry.get("seconds", {}):
                points.append((height * width, entry["seconds"][name]["median"]))
        if points:
            axes.loglog(*zip(*points, strict=True), "o-", color=COLOURS[name], label=_label(name))
    if not axes.lines:
        axes.text(0.5, 0.5, "not measured", ha="center", color=INK, transform=axes.transAxes)
    squares = [Cell("", "", "", case, "").shape[1] for case in AREAS] if axes.lines else []
    axes.set_xticks([side**2 for side in squares], [f"{side}²" for side in squares])
    axes.minorticks_off()
    axes.set_title("inference, fp32, one picture: seconds, by px", fontsize=10, color=INK)


def _label(name: str) -> str:
    return {OURS: OURS, "with_cp": f"{OURS} with_cp"}.get(name) or NAMES[name]


def _tidy(axes: Axes) -> None:
    axes.tick_params(colors=GRAY, labelsize=8)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=PALE)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GRAY)
