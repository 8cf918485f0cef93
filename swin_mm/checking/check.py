"""Check the data of a config: all of it, or a sample before a training."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from mmengine.config import Config

from swin_mm.checking.faults import DataError, Fault, Findings
from swin_mm.checking.jobs import Crew, count_workers
from swin_mm.checking.looking import Look
from swin_mm.checking.report import format_first
from swin_mm.checking.rules import SKIPPABLE, Level
from swin_mm.checking.sources import Source, find_sources
from swin_mm.checking.survey import plan_survey
from swin_mm.checking.tasks import Survey, Wishes
from swin_mm.progress import Bars

SPLITS = ("train", "val", "test")
SAMPLE = 64  # pictures of each data set that a training looks at first


def check_data(
    cfg: Config,
    *,
    splits: Sequence[str] = SPLITS,
    sample: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: bool = False,
) -> list[Findings]:
    """Check the data sets that a config names: every record, and every picture or a sample.

    Args:
        cfg: a config whose host is imported and whose scope is set.
        splits: of `train`, `val`, `test`.
        sample: look at so many pictures of each data set; whether all are there, and their
            records, is checked all the same.
        seed: of the sample.
        workers: processes that look; one for each core by default, 0 for none.
        progress: show how far it is.

    Raises:
        DataError: if a split has no data set, or a data set cannot be built.
    """
    sources = find_sources(cfg, splits)
    wishes = Wishes(sample, seed)
    with Crew(count_workers(workers)) as crew:
        # A sample leaves the records, gigabytes of them, to a process that ends.
        here = Crew(0) if sample is None else crew
        surveys = [(source, _start(here, source, wishes)) for source in sources]
        return [
            _look(crew, source, survey.result(), progress=progress) for source, survey in surveys
        ]


def check_sample(
    cfg: Config,
    *,
    splits: Sequence[str] = ("train", "val"),
    sample: int = SAMPLE,
    skipped: Sequence[str] = (),
    workers: int | None = None,
) -> list[Findings]:
    """Check every record and a sample of the pictures, and refuse data with errors.

    Args:
        cfg: a config whose host is imported and whose scope is set.
        splits: of `train`, `val`, `test`.
        sample: pictures of each data set.
        skipped: splits in which `SkipBroken` leaves out what cannot be loaded: no error there.
        workers: processes that look; one for each core by default, 0 for none.

    Returns:
        What was found: notes, and what will be left out.

    Raises:
        DataError: naming the first errors of each rule and the cure.
    """
    findings = check_data(cfg, splits=splits, sample=sample, workers=workers)
    fatal = [
        (found, group)
        for found in findings
        for group in found.groups()
        if group.level is Level.ERROR
        and not (group.rule.name in SKIPPABLE and set(found.splits) <= set(skipped))
    ]
    if fatal:
        raise DataError(format_first(fatal))
    return findings


def _start(crew: Crew, source: Source, wishes: Wishes) -> Future:
    work, arguments = plan_survey(source)
    return crew.start(work, *arguments, wishes)


def _look(crew: Crew, source: Source, survey: Survey, *, progress: bool) -> Findings:
    findings, tasks = survey.findings, survey.tasks
    look = Look(findings.name, source.reader, source.labels, survey.meaning)
    findings.looked_at = len(tasks)
    found: dict[int, list[Fault]] = {}
    places = {id(task): place for place, task in enumerate(tasks)}
    with Bars("/".join(findings.splits), len(tasks), shown=progress) as bars:
        for task, faults in crew.each(look, tasks):
            if faults is None:
                met = "the process that read it died"
                faults = [Fault("file-kills-reader", task.path, task.record, met)]
            if faults:
                found[places[id(task)]] = faults
            bars.advance()
    for place in sorted(found):  # the same order whichever process was first
        findings.add(*found[place])
    return findings
