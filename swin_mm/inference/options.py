"""What a job of predictions may be asked for, checked before anything is computed."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass, replace
from typing import Any

from swin_mm.inference.classes import Classes
from swin_mm.inference.errors import InferenceError

DRAWN_SCORE = 0.3  # of the instances that are drawn, where nothing else is said
TILE = 1024  # px, side of the tiles of large pictures
LARGE = 2**25  # px, 5793 x 5793: pictures with more are looked at by tiles


@dataclass(frozen=True)
class Options:
    """How pictures are looked at, and what is kept of what is found.

    Attributes:
        score_threshold: instances that are less sure are not drawn, 0 to 1; `None` is 0.3.
        classes: names of the classes to keep; none named keeps all.
        tile: side of tiles, px, for every picture with a longer side; 0 for none ever; `None` for
            tiles of 1024 px in pictures of more than 2**25 px.
        overlap: px that neighbouring tiles share at least; `None` for a quarter of a tile where
            instances are found, which should fit in, and an eighth where pixels are labelled.
        batch_size: pictures, tiles or frames that go through the network together.
        overlay_side: px, the longer side of overlays of tiled pictures, at most.
        tta: average over the scales and flips of the config's `tta_pipeline`.
        amp: run backbone and neck in half precision.
        compile: run the backbone through torch's compiler.
    """

    score_threshold: float | None = None
    classes: tuple[str, ...] = ()
    tile: int | None = None
    overlap: int | None = None
    batch_size: int = 1
    overlay_side: int = 4096
    tta: bool = False
    amp: bool = False
    compile: bool = False

    def __post_init__(self) -> None:
        """Check what needs no model.

        Raises:
            InferenceError: if a number has no meaning.
        """
        if self.batch_size < 1:
            raise InferenceError(f"a batch (--batch-size) is at least 1, got {self.batch_size}")
        if self.overlay_side < 1:
            raise InferenceError(
                f"overlays (--overlay-side) have at least 1 px a side, got {self.overlay_side}"
            )
        if self.score_threshold is not None and not 0 <= self.score_threshold <= 1:
            raise InferenceError(
                "a score threshold (--score-thr) lies between 0 and 1, got "
                f"{self.score_threshold:g}"
            )
        if self.tile is not None and self.tile != 0 and self.tile < 32:
            raise InferenceError(
                f"tiles (--tile) have at least 32 px a side, or 0 for none, got {self.tile}"
            )
        most = (self.tile or TILE) // 2
        if self.overlap is not None and not 1 <= self.overlap <= most:
            raise InferenceError(
                f"tiles of {self.tile or TILE} px may share (--overlap) 1 to {most} px, "
                f"got {self.overlap}"
            )
        if self.tile == 0 and self.overlap is not None:
            raise InferenceError("--overlap is of tiles, and --tile 0 makes none: leave one out")

    def checked(self, classes: Classes, *, instances: bool) -> Options:
        """Fill in what depends on the model, and check the names of classes.

        Args:
            classes: of the model.
            instances: whether it finds instances; if not, it labels pixels.

        Returns:
            Options without `None`, but for `tile`, and for `overlap` where there are no tiles;
            class names as the model has them.

        Raises:
            InferenceError: if a class is not known, or a threshold is asked of a segmentor.
        """
        if self.score_threshold is not None and not instances:
            raise InferenceError(
                "a score threshold (--score-thr) is for instances, and this model labels every "
                "pixel: leave it out"
            )
        share = (self.tile or TILE) // (4 if instances else 8)
        return replace(
            self,
            classes=tuple(dict.fromkeys(_known(name, classes.names) for name in self.classes)),
            overlap=None if self.tile == 0 else self.overlap or share,
            score_threshold=DRAWN_SCORE if self.score_threshold is None else self.score_threshold,
        )

    def tile_for(self, height: int, width: int) -> int:
        """Say how large the tiles of a picture are, px; 0 if it is looked at whole."""
        if self.tile is None:
            return TILE if height * width > LARGE else 0
        return self.tile if max(height, width) > self.tile else 0

    def kept_labels(self, classes: Classes) -> list[int]:
        """The labels to keep, in order."""
        if not self.classes:
            return list(range(len(classes.names)))
        return sorted(classes.names.index(name) for name in self.classes)

    def that_matter(self) -> dict[str, Any]:
        """The options on which results depend, by name."""
        told = asdict(self) | {"classes": list(self.classes)}
        del told["batch_size"]  # pictures of one size alone go together: the same numbers come out
        return told


def _known(name: str, names: tuple[str, ...]) -> str:
    if name in names:
        return name
    lower = {known.casefold(): known for known in names}
    if name.casefold() in lower:
        return lower[name.casefold()]
    near = difflib.get_close_matches(name.casefold(), lower, n=3)
    guess = (
        f"did you mean {' or '.join(lower[one] for one in near)}?"
        if near
        else f"it has {', '.join(names[:8])}{' and others' if len(names) > 8 else ''}"
    )
    raise InferenceError(f"the model has no class {name!r} (--classes); {guess}")
