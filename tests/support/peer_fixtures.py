"""What the real peers saved and computed: the folders of tests/fixtures, made by its makers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

FOLDER = Path(__file__).parents[1] / "fixtures"


@dataclass(frozen=True)
class Fixture:
    """One network of a peer.

    Attributes:
        name: of its folder.
        peer: who made it, with the version.
        layout: what our loader calls its layout.
        target: what our converter calls it.
        file: as the peer saved it.
        network: our class that takes the peer's place.
        cases: height and width of a picture, px, and our class's arguments for it.
    """

    name: str
    peer: str
    layout: str
    target: str
    file: Path
    network: str
    cases: tuple[tuple[tuple[int, int], dict], ...]

    def outputs(self, size: tuple[int, int]) -> list[Tensor]:
        """What the peer computed for the picture of a size: logits, or a map per output."""
        return case_of(size, self.file.parent / "outputs.safetensors")

    @property
    def is_classifier(self) -> bool:
        return self.network == "SwinClassifier"


def case_of(size: tuple[int, int], file: Path) -> list[Tensor]:
    """The outputs for one size in a file of a fixture's form, in order."""
    from safetensors.torch import load_file

    stem = f"{size[0]}x{size[1]}."
    found = {name.removeprefix(stem): t for name, t in load_file(file).items() if stem in name}
    return [found[str(index)] for index in range(len(found))]


def read_fixture(place: Path) -> Fixture:
    """Read what a fixture's about.json tells."""
    about = json.loads((place / "about.json").read_text())
    return Fixture(
        name=place.name,
        peer=about["peer"],
        layout=about["layout"],
        target=about["target"],
        file=place / about["file"],
        network=about["network"],
        cases=tuple(
            (tuple(case["size"]), _tuples(about["arguments"] | case["arguments"]))
            for case in about["cases"]
        ),
    )


def _tuples(arguments: dict) -> dict:
    """JSON's lists as the tuples that they were."""
    return {name: _tuple(value) for name, value in arguments.items()}


def _tuple(value: object) -> object:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def read_fixtures() -> list[Fixture]:
    """Read all fixtures, by name."""
    return [read_fixture(about.parent) for about in sorted(FOLDER.glob("*/about.json"))]


def picture(size: tuple[int, int], *, pictures: int = 1, channels: int = 3) -> Tensor:
    """A batch that everybody computes alike: the sine of the squared index, (B, C, H, W)."""
    index = torch.arange(pictures * channels * size[0] * size[1], dtype=torch.float64)
    return (0.01 * index * index).sin().view(pictures, channels, *size).float()
