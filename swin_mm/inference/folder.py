"""Predictions on many pictures and videos, in a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from mmengine.config import Config
from rich.markup import escape

from swin_mm.inference.errors import PictureError
from swin_mm.inference.legends import legend_of
from swin_mm.inference.looking import CLASSES, LABELS, LEGEND, OVERLAYS, Job
from swin_mm.inference.options import Options
from swin_mm.inference.pictures import Picture
from swin_mm.inference.pipeline import steps_of
from swin_mm.inference.predictor import Predictor
from swin_mm.inference.record import (
    PARTS,
    RUN,
    Record,
    fingerprint,
    fingerprint_of_text,
)
from swin_mm.inference.record import require_room as require_room_for
from swin_mm.inference.writing import write_json, write_png
from swin_mm.progress import Bars

PREDICTIONS = "predictions.json"
_FORM = 2  # of the folder and what decides its content: another cannot be continued
_RESULTS = (OVERLAYS, LABELS, PREDICTIONS, CLASSES, LEGEND, PARTS)


@dataclass(frozen=True)
class Outcome:
    """What a job came to.

    Attributes:
        done: pictures and videos that were looked at.
        before: of these, how many an earlier run had done.
        skipped: why not, for each of the others.
        written: what was made, folders and files, by what it is.
        instances: of all of them, and those that are drawn; `None` of a segmentor.
    """

    done: int
    before: int
    skipped: tuple[str, ...]
    written: dict[str, str]
    instances: tuple[int, int] | None = None

    def summary(self) -> dict[str, str]:
        """What was found, where there are instances, and what was written."""
        if self.instances is None:
            return self.written
        found, drawn = self.instances
        told = f"{found}, of which {drawn} are drawn: --score-thr sets from when"
        return {"instances": told, **self.written}


def require_room(out: str, *, force: bool = False) -> None:
    """Check that a folder, which need not exist yet, has no results whose origin nobody knows.

    Raises:
        InferenceError: if it has, or is a file.
    """
    require_room_for(out, _RESULTS, force=force)


def infer(
    predictor: Predictor,
    pictures: Sequence[Picture],
    *,
    out: str,
    options: Options | None = None,
    sources: Sequence[str] = (),
    force: bool = False,
) -> Outcome:
    """Look at pictures and videos, and write down what is in them.

    Every picture gets `overlays/NAME.png`; a segmentor's also `labels/NAME.png`, whose gray values
    are the labels, counted from 0. A video gets a video, and a folder of labels. A detector's
    instances, drawn or not, are gathered in `predictions.json`, COCO's results. `classes.json` has
    the names, numbers and colours, `legend.png` shows a segmentor's. Each file is written beside
    and renamed. A second call for the same folder goes on where the first was stopped.

    Args:
        predictor: looks at them.
        pictures: which.
        out: the folder; see :func:`require_room`.
        options: how.
        sources: what the pictures were found by; a later call with others is refused.
        force: delete what an earlier job noted that it wrote into the folder, and begin anew.

    Returns:
        What was done, and what was not: a picture that cannot be read is told of and skipped.

    Raises:
        InferenceError: if an option has no meaning for the model, the folder cannot be made, or
            holds the results of another job.
    """
    options = (options or Options()).checked(predictor.classes, instances=predictor.finds_instances)
    asked = {
        "form": _FORM,
        "settings": fingerprint_of_text(_settings(predictor.cfg)),
        "weights": fingerprint(predictor.model),
        "names": fingerprint_of_text(repr(predictor.classes)),
        "pictures": [os.path.abspath(source) for source in sources],
        **options.that_matter(),
    }
    written = {"overlays": os.path.join(out, OVERLAYS)}
    if not predictor.finds_instances:
        written |= {"labels": os.path.join(out, LABELS), "legend": os.path.join(out, LEGEND)}
    instances = None
    with Record(out, asked, force=force) as record:
        written["classes"] = os.path.join(out, CLASSES)
        write_json(written["classes"], predictor.classes.as_categories())
        if not predictor.finds_instances:
            shown = options.kept_labels(predictor.classes)
            write_png(written["legend"], legend_of(predictor.classes, shown))
        heads = {picture: record.done(picture) for picture in pictures}
        before = sum(head is not None for head in heads.values())
        skipped = [head["broken"] for head in heads.values() if head and head["broken"]]
        try:
            with Bars("Looking at pictures", len(pictures), done=before) as bars:
                job = Job(predictor, options, out=out, record=record, bars=bars)
                ahead = [picture for picture in pictures if heads[picture] is None]
                for picture, error in job.look_at(ahead):
                    if error is not None:
                        skipped.append(_named(picture, error))
                        bars.say(f"[yellow]skipped[/] {escape(skipped[-1])}")
                    bars.advance()
        finally:
            if predictor.finds_instances:
                written["predictions"] = os.path.join(out, PREDICTIONS)
                instances = record.gather(
                    pictures, written["predictions"], surer_than=options.score_threshold or 0.0
                )
    written["record"] = os.path.join(out, RUN)
    whole_before = sum(head is not None and not head["broken"] for head in heads.values())
    done = len(pictures) - len(skipped)
    return Outcome(done, whole_before, tuple(skipped), written, instances)


def _named(picture: Picture, error: PictureError) -> str:
    reason = str(error)
    return reason if picture.path in reason else f"{picture.path}: {reason}"


def _settings(cfg: Config) -> str:
    """The settings of a config on which predictions and overlays depend, as text."""
    keys = ("default_scope", "model", "tta_model", "tta_pipeline", "visualizer")
    told = {key: cfg.get(key) for key in keys}
    return repr([steps_of(cfg), *(repr(value) for value in told.values())])
