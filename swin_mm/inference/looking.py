"""A job at work: read, predict, draw, write, note; picture by picture, or frame by frame."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from tempfile import TemporaryFile

import numpy as np

from swin_mm.inference.errors import PictureError
from swin_mm.inference.options import LARGE, Options
from swin_mm.inference.overlays import Overlay
from swin_mm.inference.pictures import Picture
from swin_mm.inference.prediction import Prediction, Tick, predict
from swin_mm.inference.predictor import Predictor
from swin_mm.inference.record import Record, frame_name
from swin_mm.inference.results import coco_entries
from swin_mm.inference.video import VideoReader, VideoWriter
from swin_mm.inference.writing import write_png
from swin_mm.progress import Bars

OVERLAYS, LABELS, CLASSES, LEGEND = "overlays", "labels", "classes.json", "legend.png"

Looked = tuple[Picture, PictureError | None]


class Job:
    """Looks at pictures and videos, and writes what it finds into a folder.

    Args:
        predictor: looks at them.
        options: checked ones.
        out: the folder.
        record: is told what is done.
        bars: shows how far a large picture or a video is.
    """

    def __init__(
        self, predictor: Predictor, options: Options, *, out: str, record: Record, bars: Bars
    ) -> None:
        self._predictor = predictor
        self._options = options
        self._out = out
        self._record = record
        self._bars = bars
        assert options.score_threshold is not None
        self._overlay = Overlay(
            predictor.cfg, predictor.classes, score_threshold=options.score_threshold
        )
        for folder in (OVERLAYS,) if predictor.finds_instances else (OVERLAYS, LABELS):
            os.makedirs(os.path.join(out, folder), exist_ok=True)

    def look_at(self, pictures: Iterable[Picture]) -> Iterator[Looked]:
        """Look at pictures and videos in batches.

        Yields:
            Each as soon as all its results are written, or with the reason why there are none.
        """
        batch: list[tuple[Picture, np.ndarray]] = []
        for picture in pictures:
            if picture.is_video:
                yield from self._pictures(batch)
                batch = []
                yield picture, self._video(picture)
                continue
            try:
                image = self._predictor.read(picture.path)
            except PictureError as error:
                yield picture, error
                continue
            if self._options.tile_for(*image.shape[:2]):
                yield from self._pictures([(picture, image)])
                continue
            batch.append((picture, image))
            held = sum(one.shape[0] * one.shape[1] for _, one in batch)
            if len(batch) >= self._options.batch_size or held > LARGE:
                yield from self._pictures(batch)
                batch = []
        yield from self._pictures(batch)

    def _pictures(self, batch: list[tuple[Picture, np.ndarray]]) -> Iterator[Looked]:
        if not batch:
            return
        tick = self._tiles_of(batch[0][0])
        images = [image for _, image in batch]
        found = predict(self._predictor, images, self._options, tick=tick)
        for (picture, image), prediction in zip(batch, found, strict=True):
            if isinstance(prediction, PictureError):
                yield picture, prediction
                continue
            files = [f"{OVERLAYS}/{picture.name}.png"]
            if prediction.labels is not None:
                files.append(f"{LABELS}/{picture.name}.png")
                write_png(os.path.join(self._out, files[1]), prediction.labels)
            drawn = self._draw(image, prediction, legend=True)
            write_png(os.path.join(self._out, files[0]), drawn)
            entries = self._entries(prediction, picture, image_id=picture.image_id)
            self._record.add(picture, entries, files=files)
            yield picture, None

    def _video(self, picture: Picture) -> PictureError | None:
        """Look at a video; of one that breaks off, what came before is kept."""
        try:
            reader = VideoReader(picture.path)
            stem = os.path.join(self._out, OVERLAYS, picture.name)
            with VideoWriter(stem, rate=reader.rate) as writer, TemporaryFile("w+") as spool:
                seen = 0
                for frames in _batches(reader, self._options.batch_size):
                    self._bars.inside(f"Frames of {picture.name}", seen, reader.frames or None)
                    for entry in self._frames(picture, frames, seen, writer):
                        spool.write(f"{json.dumps(entry)}\n")  # hours of them fill no memory
                    seen += len(frames)
                if not seen:
                    return PictureError(reader.broken)
                writer.close()
                spool.seek(0)
                self._record.add(
                    picture,
                    map(json.loads, spool),
                    files=[os.path.relpath(writer.path, self._out)],
                    frames={} if self._predictor.finds_instances else {_labels_of(picture): seen},
                    broken=reader.broken,
                )
        except PictureError as error:
            return error
        return PictureError(reader.broken) if reader.broken else None

    def _frames(
        self, picture: Picture, frames: list[np.ndarray], first: int, writer: VideoWriter
    ) -> Iterator[dict]:
        """Look at some frames of a video, counted from `first`, and give their instances."""
        for number, (frame, found) in enumerate(
            zip(frames, predict(self._predictor, frames, self._options), strict=True), first
        ):
            if isinstance(found, PictureError):
                raise found
            writer.write(self._draw(frame, found, legend=False))
            name = f"{picture.name}/{number:06d}"
            if found.labels is not None:
                path = os.path.join(self._out, frame_name(_labels_of(picture), number))
                write_png(path, found.labels)
            yield from self._entries(found, picture, image_id=name)

    def _tiles_of(self, picture: Picture) -> Tick:
        return lambda done, total: self._bars.inside(f"Tiles of {picture.name}", done, total)

    def _draw(self, image: np.ndarray, prediction: Prediction, *, legend: bool) -> np.ndarray:
        tiled = self._options.tile_for(*image.shape[:2])
        side = self._options.overlay_side if tiled else 0
        if prediction.labels is not None:
            return self._overlay.draw_labels(image, prediction.labels, side=side, legend=legend)
        if prediction.sample is not None:
            return self._overlay.draw_sample(image, prediction.sample)
        assert prediction.instances is not None
        return self._overlay.draw_instances(image, prediction.instances, side=side)

    def _entries(
        self, prediction: Prediction, picture: Picture, *, image_id: int | str
    ) -> list[dict]:
        if prediction.instances is None:
            return []
        return coco_entries(
            prediction.instances,
            self._predictor.classes,
            image_id=image_id,
            file_name=picture.path,
        )


def _labels_of(video: Picture) -> str:
    """The folder of a video's labels, in the job's."""
    return f"{LABELS}/{video.name}"


def _batches(frames: Iterable[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
    there = iter(frames)
    while batch := list(islice(there, size)):
        yield batch
