"""Check the records of a data set, and list the pictures to look at."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from swin_mm.checking.coco import Format, read_coco
from swin_mm.checking.faults import Fault, Findings
from swin_mm.checking.heads import compare_heads
from swin_mm.checking.pairs import survey_pairs
from swin_mm.checking.reading import absence, absent_files, lies_on_disk
from swin_mm.checking.sources import Source
from swin_mm.checking.tasks import Survey, Task, Wishes, draw


def plan_survey(source: Source) -> tuple[Callable[..., Survey], tuple[Any, ...]]:
    """Return what surveys a data set, and its first arguments; wishes follow.

    Both can be sent to another process.
    """
    if source.kind == "labels":
        return survey_pairs, (source,)
    if source.kind == "other":
        return survey_other, (source,)
    if source.kind == "unknown":
        return survey_unknown, (source,)
    dataset = source.dataset
    form = Format(
        source.name,
        tuple(dataset.metainfo.get("classes") or ()),
        source.masks,
        bool(dataset.test_mode),
        getattr(dataset, "backend_args", None),
    )
    return survey_coco, (form, dataset.data_prefix["img"], source.splits, source.heads)


def survey_coco(
    form: Format,
    folder: str,
    splits: tuple[str, ...],
    heads: Mapping[str, int],
    wishes: Wishes,
) -> Survey:
    """Check the records of an annotation file in COCO's format."""
    findings = Findings(splits, form.file)
    if form.classes:
        compare_heads(heads, len(form.classes), findings)
    images, names = read_coco(form, findings, wishes)
    tasks = [
        Task(os.path.join(folder, image.name), image.record, image.size, image.masks)
        for image in images
    ]
    if wishes.sample is not None and lies_on_disk(folder, form.storage):
        missing = set(absent_files(os.path.join(folder, name) for name in names))
        findings.add(*(Fault("file-missing", path, "", absence(path)) for path in sorted(missing)))
        tasks = [task for task in tasks if task.path not in missing]
    return Survey(findings, tasks)


def survey_other(source: Source, wishes: Wishes) -> Survey:
    """List the pictures of a data set whose format only its own class reads."""
    dataset, findings = source.dataset, Findings(source.splits, source.name)
    try:
        dataset.full_init()
        infos = [dataset.get_data_info(place) for place in range(len(dataset))]
    except Exception as error:  # a class of the user's may fail in any way
        told = f"{type(dataset).__name__} stops with {type(error).__name__}: {error}"
        findings.add(Fault("annotations-unreadable", source.name, "", told))
        return Survey(findings)
    findings.pictures = len(infos)
    if not infos:
        findings.add(Fault("pictures-none", source.name, "", "it is empty"))
    return Survey(
        findings,
        [
            Task(info["img_path"], f"picture {info['sample_idx']}", _size(info))
            for info in draw(infos, wishes)
            if isinstance(info.get("img_path"), str)
        ],
    )


def survey_unknown(source: Source, _: Wishes) -> Survey:
    """Say that a data set was not looked at."""
    findings = Findings(source.splits, source.name)
    findings.add(Fault("class-unknown", source.name, "", "nothing of it was checked"))
    return Survey(findings)


def _size(info: Mapping[str, Any]) -> tuple[int, int] | None:
    return (info["width"], info["height"]) if {"width", "height"} <= info.keys() else None
