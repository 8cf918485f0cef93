"""Videos, read frame by frame and written by a codec that this OpenCV is seen to write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy as np

from swin_mm.inference.errors import PictureError

# Codec and container, the one that most players know first.
_CODECS = (("mp4v", ".mp4"), ("MJPG", ".avi"))
# Below, OpenCV's encoders write past their memory, which ends the process (seen: 2 px of mp4v, 6 of
# MJPG).
_LEAST = 16  # px of either side
_RATE = 25.0  # frames a second, where a video does not say


class VideoReader:
    """Reads the frames of a video, BGR, turned as its orientation says.

    Args:
        path: a file.

    Attributes:
        frames: how many the file announces; 0 if it does not.
        rate: frames a second.
        broken: after the last frame, why there are not as many as the file announces, or "".

    Raises:
        PictureError: if it is no video that can be read.
    """

    def __init__(self, path: str) -> None:
        import cv2

        if os.path.isfile(path) and not os.path.getsize(path):
            raise PictureError(f"{path} is empty")
        self.path = path
        self.broken = ""
        # FFmpeg takes what stands before a colon for a protocol, but in an absolute path.
        self._capture = _quietly(cv2.VideoCapture, os.path.abspath(path))
        if not self._capture.isOpened():
            raise PictureError(f"{path} is not a video that can be read")
        self.frames = max(int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT)), 0)
        rate = self._capture.get(cv2.CAP_PROP_FPS)
        self.rate = rate if 0 < rate < 1000 else _RATE

    def __iter__(self) -> Iterator[np.ndarray]:
        """Give the frames, (H, W, 3) uint8 BGR."""
        given = 0
        while True:
            there, frame = _quietly(self._capture.read)
            if not there:
                break
            given += 1
            yield frame
        self._capture.release()
        # Some containers only guess their length: a missing tenth is no sign of a broken file.
        if given == 0 or given < 0.9 * self.frames:
            self.broken = (
                f"{self.path} breaks off after {given} of {self.frames} frames; fetch it again"
            )


class VideoWriter:
    """Writes a video beside its name, reads it back, and renames it.

    Args:
        stem: path without ending, which the codec decides.
        rate: frames a second.

    Attributes:
        path: of the video, once the first frame is written.
    """

    def __init__(self, stem: str, *, rate: float) -> None:
        self.path = ""
        self._stem = stem
        self._rate = rate
        self._part = ""
        self._writer: Any = None
        self._size = (0, 0)
        self._written = 0

    def write(self, frame: np.ndarray) -> None:
        """Add a frame, (H, W, 3) uint8 RGB, all of one size.

        Odd sides are made even by repeating the last row or column: codecs that halve colours
        would cut it off. Sides below 16 px are filled up likewise.

        Raises:
            PictureError: if this OpenCV writes no video of that size.
        """
        missing = [(0, max(side + side % 2, _LEAST) - side) for side in frame.shape[:2]]
        frame = np.pad(frame, (*missing, (0, 0)), mode="edge")
        if self._writer is None:
            self._open((frame.shape[1], frame.shape[0]))
        self._writer.write(np.ascontiguousarray(frame[..., ::-1]))
        self._written += 1

    def close(self) -> None:
        """Read the video back and give it its name; without a frame there is none.

        Raises:
            PictureError: if it does not hold what was written.
        """
        if self._writer is None:
            return
        self._writer.release()
        found = _frames_in(self._part, self._size)
        if found != self._written:
            raise PictureError(
                f"OpenCV wrote {self._written} frames into {self.path} and reads back {found}; "
                "is the disk full?"
            )
        os.replace(self._part, self.path)

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Leave nothing half written."""
        if self._writer is not None:
            self._writer.release()
        if self._part and os.path.exists(self._part):
            os.remove(self._part)

    def _open(self, size: tuple[int, int]) -> None:
        import cv2

        folder, name = os.path.split(os.path.abspath(self._stem))
        os.makedirs(folder, exist_ok=True)
        for codec, ending in _CODECS:
            part = os.path.join(folder, f".{name}.part{ending}")
            code = cv2.VideoWriter_fourcc(*codec)
            if self._proves(part, code, size):
                self._writer = _quietly(cv2.VideoWriter, part, code, self._rate, size)
                self._part, self._size, self.path = part, size, self._stem + ending
                return
        codecs = ", ".join(codec for codec, _ in _CODECS)
        raise PictureError(
            f"OpenCV {cv2.__version__} writes no video of {size[0]}x{size[1]} px here (tried "
            f"{codecs}); predict on its frames as pictures instead"
        )

    def _proves(self, part: str, code: int, size: tuple[int, int]) -> bool:
        """Write two frames and read them back."""
        import cv2

        trial = _quietly(cv2.VideoWriter, part, code, self._rate, size)
        if not trial.isOpened():
            return False
        for _ in range(2):
            trial.write(np.zeros((size[1], size[0], 3), np.uint8))
        trial.release()
        return _frames_in(part, size) == 2


def _frames_in(path: str, size: tuple[int, int]) -> int:
    """Count a video's frames, 0 if they are of another size."""
    import cv2

    capture = _quietly(cv2.VideoCapture, path)
    sides = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
    if not capture.isOpened() or tuple(int(capture.get(side)) for side in sides) != size:
        return 0
    frames = 0
    while capture.grab():
        frames += 1
    capture.release()
    return frames


def _quietly(call: Any, *words: Any) -> Any:
    """Call OpenCV without its complaints about what the caller tells of in better words."""
    import cv2

    before = cv2.getLogLevel()
    cv2.setLogLevel(0)
    try:
        return call(*words)
    finally:
        cv2.setLogLevel(before)
