"""Predictions on many pictures, in a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.markup import escape

from swin_mm.inference.errors import InferenceError, PictureError
from swin_mm.inference.overlays import Overlay
from swin_mm.inference.pictures import Picture
from swin_mm.inference.predictor import Predictor
from swin_mm.inference.progress import bar
from swin_mm.inference.results import coco_entries, label_picture

OVERLAYS, LABELS = "overlays", "labels"
PREDICTIONS, CLASSES = "predictions.json", "classes.json"

DRAWN_SCORE = 0.3  # of the instances that are drawn, where nothing else is said


@dataclass(frozen=True)
class Outcome:
    """What a job came to.

    Attributes:
        done: pictures that were looked at.
        skipped: why not, for each of the others.
        written: what was made, folders and files, by what it is.
    """

    done: int
    skipped: tuple[str, ...]
    written: dict[str, str]


def require_room(out: str, *, force: bool = False) -> None:
    """Check that a folder, which need not exist yet, has no results in it.

    Args:
        out: the folder.
        force: whether older results may lie there; those of the same name are replaced.

    Raises:
        InferenceError: if it has, or is a file.
    """
    if not os.path.exists(out):
        return
    if not os.path.isdir(out):
        raise InferenceError(f"{out} must be a folder for results, but is a file")
    there = sorted({OVERLAYS, LABELS, PREDICTIONS, CLASSES} & set(os.listdir(out)))
    if there and not force:
        raise InferenceError(
            f"results lie in {out} already ({', '.join(there)}); name another folder, or --force "
            "to replace those of the same name"
        )


def infer(
    predictor: Predictor,
    pictures: Sequence[Picture],
    *,
    out: str,
    score_threshold: float | None = None,
) -> Outcome:
    """Look at pictures, and write down what is in them.

    Every picture gets `overlays/NAME.png`; a segmentor's also `labels/NAME.png`, whose gray values
    are the labels, counted from 0. A detector's instances, drawn or not, are gathered in
    `predictions.json`, COCO's results; it holds what was found so far if the job ends early.
    `classes.json` has the names, numbers and colours. Each file is written beside and renamed.

    Args:
        predictor: looks at them.
        pictures: which.
        out: the folder; see :func:`require_room`.
        score_threshold: instances that are less sure are not drawn, 0 to 1.

    Returns:
        What was done, and what was not: a picture that cannot be read is told of and skipped.

    Raises:
        InferenceError: if the threshold has no meaning, or the folder cannot be made.
    """
    threshold = _check_threshold(predictor, score_threshold)
    overlay = Overlay(predictor.cfg, predictor.classes, score_threshold=threshold)
    written = {"overlays": os.path.join(out, OVERLAYS)}
    if not predictor.finds_instances:
        written["labels"] = os.path.join(out, LABELS)
    try:
        for folder in written.values():
            os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InferenceError(f"{out} cannot be made: {error.strerror}") from error
    entries: list[dict[str, Any]] = []
    skipped: list[str] = []
    try:
        with bar("Looking at pictures", len(pictures)) as progress:
            for picture in pictures:
                try:
                    image = predictor.read(picture.path)
                    sample = predictor(image)
                except PictureError as error:
                    reason = str(error)
                    named = reason if picture.path in reason else f"{picture.path}: {reason}"
                    skipped.append(named)
                    progress.console.print(f"[yellow]skipped[/] {escape(named)}", soft_wrap=True)
                else:
                    name = f"{picture.name}.png"
                    _write_png(os.path.join(out, OVERLAYS, name), overlay.draw(image, sample))
                    if predictor.finds_instances:
                        entries += coco_entries(sample, picture, predictor.classes)
                    else:
                        _write_png(os.path.join(out, LABELS, name), label_picture(sample))
                progress.advance(progress.task_ids[0])
    finally:
        if predictor.finds_instances:
            written["predictions"] = os.path.join(out, PREDICTIONS)
            _write_json(written["predictions"], entries)
        written["classes"] = os.path.join(out, CLASSES)
        _write_json(written["classes"], predictor.classes.as_categories())
    return Outcome(len(pictures) - len(skipped), tuple(skipped), written)


def _check_threshold(predictor: Predictor, asked: float | None) -> float:
    if asked is None:
        return DRAWN_SCORE
    if not predictor.finds_instances:
        raise InferenceError(
            "a score threshold (--score-thr) is for instances, and this model labels every pixel: "
            "leave it out"
        )
    if not 0 <= asked <= 1:
        raise InferenceError(f"a score threshold (--score-thr) lies between 0 and 1, got {asked:g}")
    return asked


def _write_png(path: str, picture: np.ndarray) -> None:
    """Write (H, W, 3) RGB or (H, W) gray."""
    import cv2

    encoded = cv2.imencode(".png", picture[..., ::-1] if picture.ndim == 3 else picture)[1]
    _write(path, lambda part: encoded.tofile(part))


def _write_json(path: str, content: Any) -> None:
    def dump(part: str) -> None:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(content, file)

    _write(path, dump)


def _write(path: str, write: Callable[[str], None]) -> None:
    """Write beside, then rename, so that no half of a file bears its name."""
    part = f"{path}.part"
    write(part)
    os.replace(part, path)
