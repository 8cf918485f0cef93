"""The windows of every stage over one picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from swin_mm.ops import WindowPlan
from swin_mm.visualization.canvas import grid, hatch_padding, window_lines
from swin_mm.visualization.maps import map_of, over_tokens, plan_of
from swin_mm.visualization.network import Network
from swin_mm.visualization.style import PAPER, new_figure, title

_SMALL = 30  # px of a window whose borders are drawn thin
_VISIBLE = 6  # px of a token whose borders are drawn


def draw_stages(network: Network, picture: np.ndarray, *, stages: Sequence[int]) -> Figure:
    """Draw which part of a picture a window of each stage covers (Liu et al. 2021, fig. 1).

    Windows have as many tokens in every stage, and tokens grow: so the cost stays linear in the
    picture, and deep windows cover most of it. Windows are those of a stage's first block, which
    does not shift. Padding is hatched.

    Args:
        network: whose stages.
        picture: (H, W, 3) uint8 RGB, as the network sees it.
        stages: which ones.

    Raises:
        DrawingError: if the network has no such stage.
    """
    size = picture.shape[:2]
    blocks = [network.block(stage, 0) for stage in stages]
    maps = [map_of(network.backbone, size, stage) for stage in stages]
    plans = [plan_of(block, tokens) for block, (tokens, _) in zip(blocks, maps, strict=True)]
    reaches = [
        [padded * step for padded, step in zip(plan.padded_size, stride, strict=True)]
        for plan, (_, stride) in zip(plans, maps, strict=True)
    ]
    # One scale for all panels, so that a window's growth is seen: as large as the largest.
    tall, wide = (max(reach[axis] for reach in reaches) for axis in (0, 1))
    width = 1400 if len(stages) > 1 else min(1400, round(900 * wide / tall))
    figure, panels = new_figure([wide / tall] * len(stages), width=width, bottom=74)
    for axes, stage, plan, (tokens, stride) in zip(panels, stages, plans, maps, strict=True):
        pixels = axes.get_position().width * width
        fitted = over_tokens(picture, tokens, stride, long_side=round(pixels))
        axes.imshow(fitted, extent=(0, tokens[1], tokens[0], 0), interpolation="antialiased")
        hatch_padding(axes, WindowPlan(plan.size, plan.window))
        if pixels * stride[1] / wide >= _VISIBLE:
            box = (0, 0, tokens[1], tokens[0])
            grid(axes, box, (1, 1), color=PAPER, lw=0.5, alpha=0.8)
        window_lines(axes, plan, thin=pixels * stride[1] / wide * plan.window[1] < _SMALL)
        axes.set(xlim=(0, wide / stride[1]), ylim=(tall / stride[0], 0))
        rows, columns = plan.counts
        side = f"{stride[0]}" if stride[0] == stride[1] else f"{stride[0]}x{stride[1]}"
        mh, mw = plan.window
        text = (
            f"{tokens[0]}x{tokens[1]} tokens in {rows}x{columns} windows\n"
            f"of {mh}x{mw}: {mh * stride[0]}x{mw * stride[1]} px each"
        )
        title(axes, f"Stage {stage}, stride {side}", text)
    return figure
