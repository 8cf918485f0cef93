"""How far a token of each stage sees: where the picture moves it, and how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from torch import Tensor

from swin_mm.visualization.maps import map_of
from swin_mm.visualization.network import Network
from swin_mm.visualization.style import GRAY, INK, KINDS, blank_figure, panel_at, title

_WIDTH, _GAP = 1400, 26  # px
_DECADES = 4  # that colours span
_SHARES = ((0.5, "-"), (0.95, "--"))


def receptive_fields(
    network: Network, inputs: Sequence[Tensor], *, place: tuple[int, int]
) -> list[np.ndarray]:
    """Measure how much each pixel moves one token of each map that the backbone returns.

    The token's gradient to the picture (Luo et al. 2016): of a random sum of its channels, since
    that of their plain sum vanishes behind a norm; its length over the picture's channels, and the
    mean over pictures. Exactly zero where the token cannot see.

    Args:
        network: in evaluation mode.
        inputs: normed pictures of one size, (1, 3, H, W) each.
        place: y and x of a point in the token, px.

    Returns:
        For each map (H, W), at least 0.
    """
    sums = [np.zeros(inputs[0].shape[-2:]) for _ in network.backbone.out_indices]
    signs = torch.Generator().manual_seed(0)
    for one in inputs:
        x = one.clone().requires_grad_()
        with torch.enable_grad():
            maps = network.backbone(x)
        for number, (stage, features) in enumerate(
            zip(network.backbone.out_indices, maps, strict=True)
        ):
            _, stride = map_of(network.backbone, tuple(x.shape[-2:]), stage)
            token = features[0, :, place[0] // stride[0], place[1] // stride[1]]
            mixture = torch.randint(2, token.shape, generator=signs).to(token) * 2 - 1
            (gradient,) = torch.autograd.grad(token, x, mixture, retain_graph=True)
            sums[number] += gradient[0].double().square().sum(0).sqrt().numpy()
    return [total / len(inputs) for total in sums]


def side_holding(field: np.ndarray, share: float, *, place: tuple[int, int]) -> int:
    """Find the smallest square around a place that holds a share of a field.

    Args:
        field: (H, W), at least 0.
        share: 0 to 1.
        place: y and x of its centre, px.

    Returns:
        Its side, px, odd; it may reach beyond the picture.
    """
    rows, columns = (abs(np.arange(side) - at) for side, at in zip(field.shape, place, strict=True))
    distance = np.maximum(rows[:, None], columns)
    within = np.bincount(distance.ravel(), weights=field.ravel()).cumsum()
    return 2 * int(np.searchsorted(within, share * within[-1] * (1 - 1e-9))) + 1


def draw_receptive_fields(
    network: Network, inputs: Sequence[Tensor], *, place: tuple[int, int], of: str
) -> Figure:
    """Draw the effective receptive field of a token of each stage.

    Args:
        network: in evaluation mode.
        inputs: normed pictures of one size.
        place: y and x of a point in the token, px.
        of: what the inputs are, for the caption.
    """
    fields = receptive_fields(network, inputs, place=place)
    height, width = fields[0].shape
    side = (_WIDTH - 12 - _GAP * (len(fields) - 1)) / max(len(fields), 2)
    tall = side * height / width
    figure = blank_figure(_WIDTH, 48 + tall + 164)
    for number, (stage, field) in enumerate(zip(network.backbone.out_indices, fields, strict=True)):
        axes = panel_at(figure, (6 + number * (side + _GAP), 48, side, tall))
        image = _draw_field(axes, field, place=place)
        _, stride = map_of(network.backbone, (height, width), stage)
        texts = [
            f"{share:.0%} within {side_holding(field, share, place=place)} px"
            for share, _ in _SHARES
        ]
        seen = (field > 0).mean()
        title(
            axes,
            f"Stage {stage}, stride {stride[0]}",
            "\n".join([*texts, f"sees {seen:.0%} of {height}x{width} px"]),
        )
    bar = panel_at(figure, (24, 48 + tall + 112, 300, 14))
    figure.colorbar(image, cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=11, labelcolor=GRAY, color=GRAY)
    bar.annotate(
        f"Gradient by the largest; mean over {of}. White: none. Squares around ★: solid holds "
        "50%, dashed 95%.",
        (1, 0.5),
        (14, 0),
        xycoords="axes fraction",
        textcoords="offset points",
        va="center",
        fontsize=12,
        color=INK,
    )
    return figure


def _draw_field(axes: Axes, field: np.ndarray, *, place: tuple[int, int]) -> AxesImage:
    """Show a field by its largest value on a logarithmic scale, with the squares that hold most."""
    height, width = field.shape
    share = np.ma.masked_less_equal(field / max(field.max(), 1e-300), 0)
    norm = LogNorm(10.0**-_DECADES, 1)
    image = axes.imshow(share, cmap="YlGnBu", norm=norm, extent=(0, width, height, 0))
    for spine in axes.spines.values():
        spine.set(visible=True, color=GRAY, linewidth=1)
    for held, line in _SHARES:
        side = side_holding(field, held, place=place)
        corner = (place[1] + 0.5 - side / 2, place[0] + 0.5 - side / 2)
        frame = Rectangle(corner, side, side, fill=False, ec=KINDS[2].colour, lw=2, ls=line)
        axes.add_patch(frame)
    axes.plot(place[1] + 0.5, place[0] + 0.5, "*", ms=7, mfc=KINDS[2].colour, mec="w", mew=0.8)
    axes.set(xlim=(0, width), ylim=(height, 0))
    return image
