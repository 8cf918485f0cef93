"""What an exported file says of itself."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Part = Literal["backbone", "neck", "model"]


@dataclass(frozen=True)
class Pixels:
    """How pixels become what a network takes: (pixel - mean) / std.

    Attributes:
        order: of the channels, ``"RGB"`` or ``"BGR"``, for the means as for the network.
        mean: a number for each channel, of pixels from 0 to 255.
        std: a number for each channel.
    """

    order: str
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, preprocessor: Mapping[str, Any]) -> Pixels:
        """Read a config's ``data_preprocessor``, which is empty where there is none."""
        mean, std = (tuple(preprocessor.get(key) or ()) for key in ("mean", "std"))
        # Pictures are read as BGR, and handed on in that order unless something else is said.
        order = "RGB" if preprocessor.get("bgr_to_rgb") else "BGR"
        return cls(order, mean or (0.0,), std or (1.0,))


@dataclass(frozen=True)
class Description:
    """What is in a file, for whoever runs it; kept in its metadata as ``swin_mm.KEY``.

    Attributes:
        part: what of a model it is.
        outputs: names of the outputs.
        strides: px from one token of an output to the next, a number or a pair for each.
        pixels: how pixels become what the backbone takes; ``None`` where nothing says so.
        normalises: whether the network does that itself, and takes pixels from 0 to 255.
        classes: names of the logits' channels.
    """

    part: Part
    outputs: tuple[str, ...]
    strides: tuple[int | tuple[int, int], ...] = ()
    pixels: Pixels | None = None
    normalises: bool = False
    classes: tuple[str, ...] = ()

    @property
    def input(self) -> str:
        """Name of the input: ``pixels``, or ``pictures`` that are normalised already."""
        return "pixels" if self.normalises else "pictures"

    def as_metadata(self) -> dict[str, str]:
        """Everything as text, numbers and lists in JSON."""
        content = {**asdict(self), "input": self.input, "version": package_version()}
        return {
            f"swin_mm.{key}": value if isinstance(value, str) else json.dumps(value)
            for key, value in content.items()
        }


def package_version() -> str:
    """Return the version of this package, which stands above all its rooms."""
    return importlib.import_module("swin_mm").__version__
