"""Print results as tables for README.md and benchmarks/README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.cells import EAGER, PEERS, SIZES, Cell
from bench.entrants import OURS, WITH_CP
from bench.measure import FLOOR
from bench.results import cell_of

FILES = ("backbone.json", "backbone_peers.json")
NAMES = {
    "mmdet": "MMDetection",
    "timm": "timm",
    "torchvision": "torchvision",
    "huggingface": "HuggingFace",
    "openvino": "OpenVINO",
    "onnxruntime": "onnxruntime",
    EAGER: "ours, eager",
}
ROWS = (
    *(("inference", precision) for precision in ("fp32", "bf16 autocast")),
    *(("training", precision) for precision in ("fp32", "bf16 autocast")),
    *(("training with_cp", precision) for precision in ("fp32", "bf16 autocast")),
)
"""What the README shows, at the three sizes."""
NOTHING = "-"


@dataclass(frozen=True)
class Book:
    """What the files of results hold together.

    Attributes:
        entries: of all cells.
        runs: of every file, by the file's name.
    """

    entries: Mapping[Cell, dict]
    runs: Mapping[str, list[dict]]

    def find(self, task: str, precision: str, case: str, peer: str) -> dict:
        """Return what is known of a cell of Swin-T; empty if it was not measured."""
        return self.entries.get(Cell(task, precision, "tiny", case, peer), {})


def read(folder: Path) -> Book:
    """Read those of :data:`FILES` that are there."""
    entries: dict[Cell, dict] = {}
    runs: dict[str, list[dict]] = {}
    for name in FILES:
        file = folder / name
        if file.exists():
            report = json.loads(file.read_text(encoding="utf-8"))
            entries |= {cell_of(one): one for one in report["cells"]}
            runs[name] = report["runs"]
    return Book(entries, runs)


def short_table(book: Book) -> str:
    """Swin-T at the three sizes: seconds of ours, everybody's by ours, floor and memory."""
    head = ["", "input", "swin_mm", *(NAMES[peer] for peer in PEERS), "floor", "memory"]
    lines = [_line(head), _line(["---"] * len(head))]
    for task, precision in ROWS:
        for case in SIZES:
            found = {peer: book.find(task, precision, case, peer) for peer in PEERS}
            if not any("seconds" in one for one in found.values()):
                continue
            main = found["mmdet"]
            shares = [_ratio(one, f"{peer} / {OURS}") for peer, one in found.items()]
            cells = [f"{task}, {precision}", case, _median(main, OURS), *shares]
            cells += [_ratio(main, f"{OURS} / {FLOOR}"), _ratio(main, f"memory {OURS} / mmdet")]
            lines.append(_line(cells))
    return "\n".join(lines) if len(lines) > 2 else ""


def compiled_table(book: Book) -> str:
    """The compiled network beside the same one as it is, and how long compiling took."""
    head = ["", "input", "to compile", "compiled", "as it is", "as it is / compiled"]
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [
        _line(
            [
                f"{cell.task}, {cell.precision}",
                cell.case,
                f"{entry['seconds to compile']:.0f} s",
                _median(entry, OURS),
                _median(entry, EAGER),
                _ratio(entry, f"{EAGER} / {OURS}"),
            ]
        )
        for cell, entry in book.entries.items()
        if cell.compiled and "seconds" in entry
    ]
    return "\n".join(lines) if len(lines) > 2 else "Not measured yet."


def full_table(book: Book) -> str:
    """Every cell that ran: medians with both ends, memory, and how far outputs were apart."""
    head = ["", "network", "input", "peer", "swin_mm, s", "peer, s", "peer / swin_mm"]
    head += ["swin_mm / floor", "swin_mm, MB", "peer, MB", "difference"]
    lines = [_line(head), _line(["---"] * len(head))]
    ran = {cell: entry for cell, entry in book.entries.items() if "seconds" in entry}
    lines += [_line(row) for cell, entry in ran.items() for row in _rows(cell, entry)]
    return "\n".join(lines)


def unable(book: Book) -> str:
    """List who could not do what, and why; cells with one reason together."""
    reasons: dict[tuple[str, str], dict[str, None]] = {}
    for cell, entry in book.entries.items():
        for name, why in entry.get("why not", {}).items():
            reasons.setdefault((name, why), {})[f"{cell.task}, {cell.precision}"] = None
    lines = [
        f"- {_named(name)}, {'; '.join(cells)}: {why}" for (name, why), cells in reasons.items()
    ]
    return "\n".join(lines)


def said_runs(book: Book) -> str:
    """Say of every run what it was, where, and with which versions."""
    lines = []
    for name, runs in book.runs.items():
        for run in runs:
            versions = ", ".join(
                f"{package} {number}" for package, number in run["versions"].items()
            )
            lines.append(
                f"- `{name}`, commit {run['commit']}, {said_machine(run)}; {versions}: "
                f"`{run['command']}`"
            )
    return "\n".join(lines)


def said_machine(run: Mapping) -> str:
    """Say what a run had to compute with; of kernels only where it was noted."""
    kernels = f", kernels: {run['kernels']}" if "kernels" in run else ""
    return f"{run['machine']}, {run['threads']} threads{kernels}"


def _rows(cell: Cell, entry: Mapping) -> Iterator[list[str]]:
    """A line for the peer, and one for the peer that recomputes if there is one."""
    peaks, apart = entry.get("peak MB", {}), entry.get("worst difference", {})
    for name in (cell.peer, cell.peer + WITH_CP):
        if name != cell.peer and name not in entry["seconds"]:
            continue
        yield [
            f"{cell.task}, {cell.precision}",
            cell.variant,
            cell.case,
            _named(name),
            _span(entry, OURS),
            _span(entry, name),
            _ratio(entry, f"{name} / {OURS}"),
            _ratio(entry, f"{OURS} / {FLOOR}"),
            str(peaks.get(OURS, NOTHING)),
            str(peaks.get(name, NOTHING)),
            f"{apart[name]:.0e}" if name in apart else NOTHING,
        ]


def _named(name: str) -> str:
    return NAMES[name.removesuffix(WITH_CP)] + (WITH_CP if name.endswith(WITH_CP) else "")


def _ratio(entry: Mapping, name: str) -> str:
    return f"{entry[name]:.2f}" if name in entry else NOTHING


def _median(entry: Mapping, name: str) -> str:
    times = entry.get("seconds", {})
    return f"{_digits(times[name]['median'])} s" if name in times else NOTHING


def _span(entry: Mapping, name: str) -> str:
    times = entry.get("seconds", {}).get(name)
    if times is None:
        return NOTHING
    middle, least, most = (_digits(times[end]) for end in ("median", "min", "max"))
    return f"{middle} ({least} to {most})"


def _digits(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
