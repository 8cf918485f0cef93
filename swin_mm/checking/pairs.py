"""Pairs of a picture and a label picture, as MMSegmentation lists them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from swin_mm.checking.faults import Fault, Findings
from swin_mm.checking.heads import compare_heads
from swin_mm.checking.labels import Meaning
from swin_mm.checking.reading import absence, absent_files, lies_on_disk
from swin_mm.checking.sources import Source
from swin_mm.checking.tasks import Survey, Task, Wishes, draw


def survey_pairs(source: Source, wishes: Wishes) -> Survey:
    """List the pairs of a data set, and what lies beside them."""
    dataset, findings = source.dataset, Findings(source.splits, source.name)
    folder = str(dataset.data_prefix.get("img_path") or "")
    labels = str(dataset.data_prefix.get("seg_map_path") or "")
    try:
        pairs = dataset.load_data_list()
    except (AssertionError, OSError) as error:  # MMSegmentation asserts that a list is there
        rule = "annotations-missing" if dataset.ann_file else "pictures-none"
        findings.add(Fault(rule, source.name, "", " ".join(str(error).split())))
        return Survey(findings)
    if not pairs:
        met = f"no file in it ends in {dataset.img_suffix}"
        findings.add(Fault("pictures-none", folder, "", met))
    findings.pictures = len(pairs)
    classes = _count_classes(source, findings)
    read = [
        Task(pair["img_path"], label=pair.get("seg_map_path") if source.labels else None)
        for pair in pairs
    ]
    tasks = draw(read, wishes)
    if lies_on_disk(folder, source.reader.storage):
        if not dataset.ann_file:
            _look_beside(source, read, folder, labels, findings)
        if wishes.sample is not None:
            tasks = _only_whole_pairs(read, tasks, findings)
    meaning = Meaning.of(
        classes,
        reduce_zero=bool(dataset.reduce_zero_label),
        ignore=source.ignore,
        mapped=dataset.label_map,
    )
    return Survey(findings, tasks, meaning)


def _count_classes(source: Source, findings: Findings) -> int:
    """Count the classes, and compare the heads with them."""
    classes = len(source.dataset.metainfo.get("classes") or ())
    classes = classes or max(source.heads.values(), default=256)
    compare_heads(source.heads, classes, findings)
    return classes


def _look_beside(
    source: Source, pairs: list[Task], folder: str, labels: str, findings: Findings
) -> None:
    """Note files that no pair takes."""
    suffix = source.dataset.img_suffix
    others = Counter(
        os.path.splitext(path)[1] for path in _files_in(folder) if not path.endswith(suffix)
    )
    if others:
        told = ", ".join(f"{count} end in {end or 'nothing'}" for end, count in others.items())
        findings.add(Fault("picture-unlisted", folder, "", f"{told}; img_suffix is {suffix}"))
    if not labels:
        return
    known = {os.path.normpath(pair.label) for pair in pairs if pair.label}
    for path in _files_in(labels):
        if path.endswith(source.dataset.seg_map_suffix) and os.path.normpath(path) not in known:
            findings.add(Fault("label-alone", path, "", f"no picture of its name in {folder}"))


def _files_in(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in sorted(names) if name[0] != ".")


def _only_whole_pairs(pairs: list[Task], tasks: list[Task], findings: Findings) -> list[Task]:
    """Find all files that are not there, and take their pairs out of those to look at."""
    missing = set(absent_files(pair.path for pair in pairs))
    lost = set(absent_files(pair.label for pair in pairs if pair.label))
    for rule, paths in (("file-missing", missing), ("label-missing", lost)):
        findings.add(*(Fault(rule, path, "", absence(path)) for path in sorted(paths)))
    return [task for task in tasks if task.path not in missing and task.label not in lost]
