"""A diagnosis as text and as JSON; plain, since rich may be what is missing."""

from __future__ import annotations

import dataclasses
import sysconfig
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from .cures import explain
from .diagnosis import Diagnosis
from .machine import GIB
from .packages import OPTIONAL

_MARKS = {True: "yes", False: "NO", None: "-"}
_WIDTH = 100
# The probes that import a library without being named after it.
_PROVES = {"mmdet": "detector", "mmseg": "segmentor", "swin_mm": "backbone", "mmengine": "backbone"}


def as_text(diagnosis: Diagnosis) -> str:
    """Write a page of at most 100 columns, commands excepted."""
    parts = [
        _titled("Machine", _table(_machine(diagnosis))),
        _titled("Installed", _table(_packages(diagnosis))),
        _titled("What works", list(_findings(diagnosis))),
        _titled("Take care", list(_troubles(diagnosis))),
        [_verdict(diagnosis)],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Everything, as JSON takes it."""
    evidence = diagnosis.evidence
    return {
        "well": diagnosis.well,
        "machine": dataclasses.asdict(evidence.machine),
        "packages": {
            library: [dataclasses.asdict(one) for one in there]
            for library, there in evidence.packages.items()
        },
        "abilities": [dataclasses.asdict(one) for one in diagnosis.findings],
        "troubles": [dataclasses.asdict(one) for one in diagnosis.troubles],
        "probes": {name: dataclasses.asdict(one) for name, one in evidence.answers.items()},
    }


def _verdict(diagnosis: Diagnosis) -> str:
    if not diagnosis.wanting:
        return "All well: the backbone works, and every toolbox that is installed."
    verdict = f"Not well: {', '.join(diagnosis.wanting)}."
    if not diagnosis.evidence.packages["mmengine"]:
        verdict += "\nFor an environment of its own, with the tested versions: make setup"
    return verdict


def _machine(diagnosis: Diagnosis) -> Iterator[tuple[str, ...]]:
    machine, torch = diagnosis.evidence.machine, diagnosis.evidence.answers["torch"]
    yield "Python", machine.python
    yield "system", machine.system
    threads = f", torch uses {torch.facts['threads']} threads" if torch.ok else ""
    yield "processor", f"{machine.processor}, {machine.cores} cores{threads}"
    if torch.ok:
        fast = (
            f"fast, by {machine.bfloat16}"
            if machine.bfloat16
            else "without instructions of its own"
        )
        yield "", f"{torch.facts['instructions']}; bfloat16 {fast}"
        for device in torch.facts["devices"]:
            memory = f"{device['memory'] / GIB:.0f} GiB"
            yield "GPU", f"{device['name']}, {memory}, capability {device['capability']}"
    free = {"memory": machine.memory, "disk here": machine.disk, "/dev/shm": machine.shared_memory}
    told = [f"{name} {size / GIB:.1f} GiB" for name, size in free.items() if size is not None]
    yield "free", ", ".join(told)
    yield "compiler", machine.compiler or "none found"


def _packages(diagnosis: Diagnosis) -> Iterator[tuple[str, ...]]:
    usual = sysconfig.get_path("purelib")
    yield "in", usual, "", ""
    for library, there in diagnosis.evidence.packages.items():
        for one in there:
            editable = " (editable)" if one.editable else ""
            where = "" if one.where == usual else f"{one.where}{editable}"
            yield library, f"{one.name} {one.version}", _kind(library, diagnosis), where
        if not there and library not in OPTIONAL:
            answer = diagnosis.evidence.answers.get(_PROVES.get(library, library))
            found = answer is not None and answer.ok
            yield library, "not by pip, but it imports" if found else "not installed", "", ""


def _kind(library: str, diagnosis: Diagnosis) -> str:
    """What a version does not say: which processor a library was compiled for."""
    answer = diagnosis.evidence.answers.get(library)
    if library == "torch" and answer.ok:
        return f"CUDA {answer.facts['cuda']}" if answer.facts["cuda"] else "CPU"
    if library == "mmcv" and answer.ok:
        built = answer.facts["cuda"]
        return f"operators, CUDA {built}" if built else "operators, CPU"
    if library == "mmcv":
        lite = "lite" in explain(answer, diagnosis.evidence.packages, library="mmcv").what
        return "no operators" if lite else "broken"
    return ""


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    width = max(len(one.name) for one in diagnosis.findings)
    said: set[str] = set()
    for one in diagnosis.findings:
        yield from _wrapped(f"  {_MARKS[one.works]:<4}{one.name:<{width + 2}}", one.note)
        yield from _cure(one.cure, "mend" if one.works is False else "add", said)


def _troubles(diagnosis: Diagnosis) -> Iterator[str]:
    said: set[str] = set()
    for one in diagnosis.troubles:
        yield from _wrapped("  - ", one.what)
        yield from _cure(one.cure, "mend", said)


def _cure(cure: str, verb: str, said: set[str]) -> Iterator[str]:
    """A command in one line, to be copied; once."""
    if cure:
        yield f"      {verb}: {'as above' if cure in said else cure}"
        said.add(cure)


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        lead + text,
        _WIDTH,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


def _table(rows: Iterator[tuple[str, ...]]) -> list[str]:
    listed = list(rows)
    if not listed:
        return []
    widths = [max(len(row[column]) for row in listed) for column in range(len(listed[0]))]
    return ["  " + _spaced(row, widths) for row in listed]


def _spaced(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _titled(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if lines else []
