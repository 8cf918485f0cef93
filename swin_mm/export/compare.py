"""Whether an exported network computes what the network does, at sizes it was not exported at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from swin_mm.backbones.body import SwinBody
from swin_mm.export.errors import ExportError

TOLERANCE = 1e-4
"""Largest difference that is let pass, by the largest value of an output."""

Run = Callable[[Tensor], Sequence[Tensor]]
"""Runs an exported network on (B, C, H, W)."""


@dataclass(frozen=True)
class Row:
    """How far off an exported network is at one size.

    Attributes:
        size: batch, and height and width of the pictures, px.
        windows: rows and columns of windows in each stage of the backbone.
        error: the largest difference by the largest value, of the output where it is largest.
        failure: what the runtime said if it did not run.
    """

    size: tuple[int, int, int]
    windows: tuple[tuple[int, int], ...]
    error: float
    failure: str = ""

    @property
    def is_within(self) -> bool:
        """Whether it is as near as it should be; what is not a number is not."""
        return self.error <= TOLERANCE


@dataclass(frozen=True)
class Comparison:
    """An exported network beside the network itself.

    Attributes:
        runtime: what ran it, with its version.
        rows: one for each size.
    """

    runtime: str
    rows: tuple[Row, ...]

    @property
    def is_within(self) -> bool:
        """Whether all sizes are as near as they should be."""
        return all(row.is_within for row in self.rows)

    def table(self) -> Any:
        """Lay it out as a table of rich's."""
        from rich.markup import escape
        from rich.table import Table

        table = Table(title=f"{self.runtime} beside the eager network", title_justify="left")
        for heading in ("pictures", "windows by stage", "largest error / value", ""):
            table.add_column(heading)
        for row in self.rows:
            batch, height, width = row.size
            windows = " ".join(f"{rows}x{columns}" for rows, columns in row.windows)
            verdict = "ok" if row.is_within else "wrong"
            shown = escape(row.failure) or f"{row.error:.1e}"
            table.add_row(f"{batch} of {height}x{width}", windows, shown, verdict)
        return table


def backbone_of(network: nn.Module) -> SwinBody:
    """Return the backbone of what is exported."""
    return network if isinstance(network, SwinBody) else network.backbone


def sizes_to_trace(network: nn.Module) -> tuple[int, int, int]:
    """Choose batch, height and width, px, at which a network is traced: several odd windows."""
    height, width = _first_window(network)
    return 2, 5 * height + 10, 6 * width + 3


def sizes_to_compare(network: nn.Module) -> list[tuple[int, int, int]]:
    """Choose three batches, heights and widths, px: one window, odd ones, less than a window.

    The odd one is so wide that the fourth stage has two windows, at the strides of the papers.
    """
    height, width = _first_window(network)
    odd = (2 * height + 5, 9 * width - 1)
    return [(1, height, width), (2, *odd), (3, height // 2 + 3, max(width - 5, 1))]


def compare(
    network: nn.Module,
    run: Run,
    *,
    runtime: str,
    sizes: Sequence[tuple[int, int, int]],
    from_pixels: bool = False,
) -> Comparison:
    """Run both on random pictures.

    Args:
        network: the network itself.
        run: runs what was exported.
        runtime: its name.
        sizes: batch, height and width, px.
        from_pixels: whether it takes pixels from 0 to 255 rather than normalised pictures.

    Raises:
        ExportError: if the network itself cannot compute a size, for want of memory.
    """
    backbone = backbone_of(network)
    generator = torch.Generator().manual_seed(0)
    rows = []
    for batch, height, width in sizes:
        shape = (batch, backbone.patch_embed.projection.in_channels, height, width)
        try:
            pictures = torch.randn(shape, generator=generator)
            if from_pixels:
                pictures = torch.rand(shape, generator=generator) * 255
            with torch.no_grad():
                expected = network(pictures)
        except (RuntimeError, MemoryError) as error:
            first = str(error).strip().partition("\n")[0]
            raise ExportError(
                f"the network itself cannot compute {batch} of {height}x{width} px, with which "
                f"the export is to be compared: {first}"
            ) from error
        expected = [expected] if isinstance(expected, Tensor) else list(expected)
        error, failure = math.inf, ""
        try:
            found = run(pictures)
        except Exception as raised:  # runtimes have their own kinds
            failure = " ".join(str(raised).split())[:200] or type(raised).__name__
        else:
            error = max(
                (_error(a, b) for a, b in zip(expected, found, strict=True)),
                key=lambda value: math.inf if math.isnan(value) else value,
            )
        size = (batch, height, width)
        rows.append(Row(size, _windows(backbone, height, width), error, failure))
    return Comparison(runtime, tuple(rows))


def _error(expected: Tensor, found: Tensor) -> float:
    """Largest difference by the largest value; infinite where shapes differ."""
    if expected.shape != found.shape:
        return math.inf
    largest = float(expected.abs().max())
    difference = float((expected - found).abs().max())
    return difference / largest if largest else difference


def _first_window(network: nn.Module) -> tuple[int, int]:
    """Height and width of a window of the first stage, px."""
    backbone = backbone_of(network)
    window = backbone.stages[0].blocks[0].attn.w_msa.window_size
    (ph, pw), (mh, mw) = backbone.patch_embed.patch_size, window
    return ph * mh, pw * mw


def _windows(backbone: SwinBody, height: int, width: int) -> tuple[tuple[int, int], ...]:
    """Rows and columns of windows of every stage's map."""
    patch = backbone.patch_embed.patch_size
    sides = [-(-height // patch[0]), -(-width // patch[1])]
    counts = []
    for stage in backbone.stages:
        window = stage.blocks[0].attn.w_msa.window_size
        counts.append((-(-sides[0] // window[0]), -(-sides[1] // window[1])))
        if stage.downsample is not None:
            sides = [-(-side // stage.downsample.stride) for side in sides]
    return tuple(counts)
