"""What SwinV2's files tell of their windows, by a buffer: the coordinates of the continuous bias.

The bias network has no shape that depends on the window, so a file of another window, or one that
was fine-tuned at a larger window than it was trained with, loads without a word and is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.report import Resized, said_sides, times
from swin_mm.ops.position import log_spaced_offsets

COORDINATES = "relative_coords_table"

Window = tuple[int, int]


@dataclass(frozen=True)
class Geometry:
    """The windows that a bias network is used with.

    Attributes:
        window: height and width, tokens.
        pretrained: height and width of the windows that its coordinates are relative to, tokens.
    """

    window: Window
    pretrained: Window


def geometry_of(table: Tensor) -> Geometry | None:
    """Read the windows off the coordinates of all offsets; None if they are none.

    Args:
        table: (1, 2 Mh - 1, 2 Mw - 1, 2), sign(t) log2(8 |t| + 1) / 3 for t = offset / (P - 1)
            with P the pretrained window (Liu et al. 2022, eq. 4, and the authors' code).
    """
    if table.dim() != 4 or table.shape[0] != 1 or table.shape[-1] != 2 or table.is_meta:
        return None
    window = ((table.shape[1] + 1) // 2, (table.shape[2] + 1) // 2)
    if (2 * window[0] - 1, 2 * window[1] - 1) != tuple(table.shape[1:3]):
        return None
    corner = table[0, -1, -1].double().tolist()
    sides = zip(window, corner, strict=True)
    pretrained = tuple(_pretrained(side, most) for side, most in sides)
    return None if None in pretrained else Geometry(window, pretrained)


def _pretrained(side: int, most: float) -> int | None:
    """Solve for the pretrained window, from the coordinate of the largest offset along an axis."""
    if side == 1:
        return 1
    if not 0.0 < most < 10.0 or not math.isfinite(most):
        return None
    relative = (2.0 ** (3.0 * most) - 1.0) / 8.0
    return round(1 + (side - 1) / relative)


def coordinates_of(geometry: Geometry) -> Tensor:
    """Make the buffer that a file keeps for such windows, (1, 2 Mh - 1, 2 Mw - 1, 2), float32."""
    rows, columns = (2 * side - 1 for side in geometry.window)
    offsets = log_spaced_offsets(geometry.window, geometry.pretrained)
    return offsets.float().view(1, rows, columns, 2)


def compare_coordinates(source: Mapping[str, Tensor], model: nn.Module) -> Iterator[Resized]:
    """Compare the windows of a SwinV2's file with a model's.

    Args:
        source: the file's tensors, our names.
        model: its attention modules know ``window_size`` and ``pretrained_window_size``.

    Returns:
        An entry for each block whose window is another.

    Raises:
        CheckpointError: if the bias is relative to another pretrained window.
    """
    modules = dict(model.named_modules())
    for name, table in source.items():
        owner = modules.get(name.rpartition(".")[0]) if name.endswith(COORDINATES) else None
        theirs = None if owner is None else geometry_of(table)
        if theirs is None:
            continue
        window = tuple(owner.window_size)
        ours = Geometry(window, _relative_to(owner, window))
        if ours.pretrained != theirs.pretrained:
            raise CheckpointError(
                f"{name}: the file's bias is relative to windows of {times(theirs.pretrained)}, "
                f"the model's to {times(ours.pretrained)}. Build the model with "
                f"pretrained_window_sizes={theirs.pretrained} for that stage"
            )
        if ours.window != theirs.window:
            how = f"window {times(theirs.window)} -> {times(ours.window)}, bias computed anew"
            shape = (1, 2 * window[0] - 1, 2 * window[1] - 1, 2)
            yield Resized(name, tuple(table.shape), shape, how)


def assumed_windows(source: Mapping[str, Tensor], model: nn.Module) -> str:
    """Say which windows a SwinV2's file is taken for, if it does not tell; else nothing.

    Args:
        source: the file's tensors, our names.
        model: its attention modules know ``window_size`` and ``pretrained_window_size``.
    """
    if any(name.endswith(COORDINATES) for name in source):
        return ""
    firsts = [
        module
        for name, module in model.named_modules()
        if hasattr(module, "pretrained_window_size") and ".blocks.0." in name
    ]
    if not firsts:
        return ""
    windows = said_sides(module.window_size for module in firsts)
    pretrained = said_sides(module.pretrained_window_size for module in firsts)
    return (
        f"the file does not say its windows, taken as {windows}, pretrained on {pretrained} "
        "(published networks of window 16 at 256 px have 16, 16, 16, 8)"
    )


def _relative_to(owner: nn.Module, window: Window) -> Window:
    return tuple(getattr(owner, "pretrained_window_size", window))
