"""Draw the pictures of the README and the walkthrough into docs/pictures, from the code itself."""

import sys
from pathlib import Path

import cv2
import torch
from matplotlib.figure import Figure
from torch import nn

from swin_mm.data import render_scene
from swin_mm.layers import PatchMerging, RelativePositionBias
from swin_mm.ops import WindowPlan
from swin_mm.visualization import (
    draw_masks,
    draw_merging,
    draw_padding,
    draw_position_bias,
    draw_windows,
    write_png,
)

PICTURES = Path(__file__).parents[1] / "docs/pictures"


def example_bias() -> RelativePositionBias:
    """A bias as if it had been learned: near tokens count more, those in the same row most."""
    module = RelativePositionBias((7, 7), num_heads=1)
    down, across = torch.meshgrid(*[torch.arange(-6.0, 7.0)] * 2, indexing="ij")
    table = 2 * torch.exp(-(down**2 / 4 + across**2 / 12)) - 0.12 * (down**2 + across**2).sqrt()
    module.load_state_dict({"relative_position_bias_table": table.flatten()[:, None]})
    return module


def draw_all() -> dict[str, Figure]:
    """Every picture by its name."""
    scene = render_scene(0, 2, size=(640, 480)).image
    # Noise is nothing to look at here, and makes files large.
    scene = cv2.cvtColor(cv2.bilateralFilter(scene, 9, 40, 5), cv2.COLOR_BGR2RGB)
    shifted = WindowPlan.of((21, 28), (7, 7), shifted=True)
    return {
        "windows": draw_windows(scene, shifted),
        "masks": draw_masks(shifted),
        "padding": draw_padding(scene, WindowPlan.of((12, 16), (7, 7), shifted=True)),
        "position_bias": draw_position_bias(example_bias()),
        "merging": draw_merging(PatchMerging(96, 192, stride=2, norm=nn.LayerNorm)),
    }


def main() -> None:
    for name, figure in draw_all().items():
        path = write_png(figure, PICTURES / f"{name}.png")
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
