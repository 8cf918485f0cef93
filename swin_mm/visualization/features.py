"""The maps that a backbone returns: their three strongest directions as colours, and channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from swin_mm.visualization.errors import DrawingError
from swin_mm.visualization.maps import map_of
from swin_mm.visualization.network import Network
from swin_mm.visualization.picture import Picture
from swin_mm.visualization.style import GRAY, INK, blank_figure, panel_at, title

_WIDTH, _GAP, _ROW_GAP = 1400, 20, 34  # px
_COLOURS = "cividis"  # the same lightness for all eyes
_CHANNELS = 3  # shown where none are asked for
_LEGEND = """First row: the three principal
components of a map's channels
as red, green and blue, and the
share of the variance they hold.

Below: single channels, from dark
(least) to bright (most)."""


def draw_features(
    network: Network, picture: Picture, *, channels: Sequence[int] | None = None
) -> Figure:
    """Draw a picture's feature maps, a column for each that the backbone returns.

    The first row shows the three principal components over the tokens of a map as red, green and
    blue: like colours, like features. Below, single channels from dark (least) to bright (most).

    Args:
        network: looks at the picture.
        picture: of any size.
        channels: numbers of the channels to show of each map; by default the three that vary most
            over the picture.

    Raises:
        DrawingError: if a map has no such channel.
    """
    with torch.no_grad():
        maps = [one[0].float() for one in network.backbone(network.norm(picture.pixels))]
    fewest = min(one.shape[0] for one in maps)
    strays = [one for one in channels or () if not 0 <= one < fewest]
    if strays:
        raise DrawingError(
            f"--channels must be 0 to {fewest - 1}: the first map of {network.name} has {fewest} "
            f"channels, got {', '.join(map(str, strays))}"
        )
    rows = 1 + len(channels or range(_CHANNELS))
    height, width = picture.size
    side = (_WIDTH - 12 - _GAP * len(maps)) / (len(maps) + 1)
    tall = side * height / width
    top = 48
    figure = blank_figure(_WIDTH, top + rows * (tall + _ROW_GAP))
    shown = panel_at(figure, (6, top, side, tall))
    shown.imshow(picture.pixels, aspect="auto")
    title(shown, "The picture")
    _tell(shown, f"{height}x{width} px\n\n{_LEGEND}")
    for column, (features, stage) in enumerate(
        zip(maps, network.backbone.out_indices, strict=True), start=1
    ):
        left = 6 + column * (side + _GAP)
        tokens, stride = map_of(network.backbone, picture.size, stage)
        # What the picture covers of the map, tokens: the last ones may reach beyond it.
        covered = (height / stride[0], width / stride[1])
        colours, held = principal_colours(features)
        axes = panel_at(figure, (left, top, side, tall))
        _show_map(axes, colours, covered)
        axes.set_title(
            f"Stage {stage}, stride {stride[0]}",
            fontsize=15,
            fontweight="bold",
            color=INK,
            loc="left",
            pad=10,
        )
        _tell(axes, f"{tokens[0]}x{tokens[1]}, PCA of {len(features)}: {held:.0%}")
        for row, channel in enumerate(channels or most_varied(features, _CHANNELS), start=1):
            below = panel_at(figure, (left, top + row * (tall + _ROW_GAP), side, tall))
            plane = features[channel].numpy()
            low, high = np.quantile(plane, (0.01, 0.99))
            _show_map(below, plane, covered, cmap=_COLOURS, vmin=low, vmax=max(high, low + 1e-9))
            _tell(below, f"channel {channel}: {low:.2g} to {high:.2g}")
    return figure


def principal_colours(features: Tensor) -> tuple[np.ndarray, float]:
    """Show the three strongest directions of a map's features as red, green and blue.

    Args:
        features: (C, H, W).

    Returns:
        (H, W, 3), 0 to 1; and the share of the variance that the three hold.
    """
    tokens = features.flatten(1).T.double()  # (H * W, C)
    centred = tokens - tokens.mean(0)
    _, strengths, directions = torch.linalg.svd(centred, full_matrices=False)
    found = directions[:3]
    # A direction and its opposite are one: let the largest weight be positive.
    largest = found.gather(1, found.abs().argmax(1, keepdim=True))
    planes = centred @ (found * largest.sign()).T
    if planes.shape[1] < 3:
        planes = torch.cat([planes, planes.new_zeros(len(planes), 3 - planes.shape[1])], 1)
    bounds = planes.quantile(torch.tensor([0.01, 0.99], dtype=planes.dtype), dim=0)
    spans = (bounds[1] - bounds[0]).clamp(min=1e-9)
    colours = ((planes - bounds[0]) / spans).clamp(0, 1)
    variances = strengths.square()
    held = float(variances[:3].sum() / variances.sum().clamp(min=1e-30))
    return colours.unflatten(0, features.shape[1:]).numpy(), held


def most_varied(features: Tensor, number: int) -> list[int]:
    """Find the channels of (C, H, W) that vary most over the map."""
    return (
        features.flatten(1).var(1, correction=0).topk(min(number, len(features))).indices.tolist()
    )


def _show_map(axes: Axes, plane: np.ndarray, covered: tuple[float, float], **look) -> None:
    height, width = plane.shape[:2]
    extent = (0, width, height, 0)
    axes.imshow(plane, extent=extent, interpolation="none", aspect="auto", **look)
    axes.set(xlim=(0, covered[1]), ylim=(covered[0], 0))


def _tell(axes: Axes, text: str) -> None:
    axes.annotate(
        text,
        (0, 0),
        (0, -6),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize=11,
        color=GRAY,
        linespacing=1.4,
    )
