"""The windows of a file's blocks: read off their tables and buffers, and changed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from torch import Tensor

from swin_mm.checkpoints.coordinates import (
    COORDINATES,
    Geometry,
    Window,
    coordinates_of,
    geometry_of,
)
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import INDEX, TABLE, ResizeBias
from swin_mm.checkpoints.resize import resize_bias_table, window_of
from swin_mm.ops import relative_position_index

Windows = Window | Sequence[Window]
"""Height and width of all windows, or of each stage's, tokens."""

_SCALE = "logit_scale"
_STAGE = re.compile(r"stages\.(\d+)\.")
_MOST = 64  # tokens a side: the index has a number for each pair of tokens


def windows_of(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Geometry | None]]:
    """Tell the window of each block.

    Args:
        tensors: a backbone's, our names.

    Returns:
        The name of each attention module, ending in a dot, and its windows; ``None`` where a
        SwinV2's file does not say.

    Raises:
        CheckpointError: if a bias table fits no window, or several.
    """
    for name, tensor in tensors.items():
        if name.endswith(TABLE):
            owner = name.removesuffix(TABLE)
            index = tensors.get(owner + INDEX)
            if tensor.dim() != 2:
                raise CheckpointError(
                    f"{name} must have a row for each offset, (L, nH), got {tuple(tensor.shape)}"
                )
            try:
                window = window_of(tensor, None if index is None or index.is_meta else index)
            except CheckpointError as error:
                raise CheckpointError(f"{name}: {error}") from error
            yield owner, Geometry(window, window)
        elif name.endswith(_SCALE):
            owner = name.removesuffix(_SCALE)
            table = tensors.get(owner + COORDINATES)
            yield owner, None if table is None else geometry_of(table)


def by_stage(tensors: Mapping[str, Tensor]) -> list[Geometry | None]:
    """Tell the windows of each stage, by its first block; see :func:`windows_of`."""
    return [
        geometry
        for owner, geometry in sorted(windows_of(tensors), key=lambda pair: _number(pair[0]))
        if ".blocks.0." in owner
    ]


def _number(owner: str) -> int:
    return int(_STAGE.match(owner)[1])


def with_window(
    tensors: Mapping[str, Tensor],
    window: Windows | None,
    *,
    pretrained: Windows | None = None,
    resize_bias: ResizeBias = "bicubic",
    needed: bool = False,
) -> dict[str, Tensor]:
    """Bring a backbone to another window, and its buffers with it.

    SwinV1's tables are resized. SwinV2 has none: its buffers stay relative to the window that it
    was pretrained with.

    Args:
        tensors: our names.
        window: height and width, or one of these a stage, tokens; ``None`` for those that it has.
        pretrained: likewise, of the windows that a SwinV2's bias was learned on, where the file
            does not say; ``None`` for the same as ``window``.
        resize_bias: how tables come to other windows.
        needed: whether a SwinV2 must have buffers, so that its window must be known.

    Returns:
        The tensors, with buffers for every block whose window is known.

    Raises:
        CheckpointError: if a window cannot be told and is needed, or is none.
    """
    made = dict(tensors)
    stages = {int(found[1]) for name in tensors if (found := _STAGE.match(name))}
    targets = _by_stage(window, stages)
    learned = _by_stage(pretrained, stages)
    index = functools.cache(relative_position_index)  # one for all blocks of a window
    for owner, geometry in windows_of(tensors):
        stage = _number(owner)
        if geometry is None and window is None:
            if needed:
                raise CheckpointError(
                    "a SwinV2 of this layout must say its window, and the file does not. "
                    "Give it (--window)"
                )
            continue
        target = targets.get(stage) or geometry.window
        made[owner + INDEX] = index(target)
        if owner + TABLE not in tensors:
            given = learned.get(stage, target) if geometry is None else geometry.pretrained
            made[owner + COORDINATES] = coordinates_of(Geometry(target, given))
        elif target != geometry.window:
            table = tensors[owner + TABLE]
            made[owner + TABLE] = resize_bias_table(
                table, geometry.window, target, method=resize_bias
            )
    return made


def _by_stage(windows: Windows | None, stages: set[int]) -> dict[int, Window]:
    """Give each stage its window; none at all where none is given."""
    if windows is None:
        return {}
    windows = (windows, windows) if isinstance(windows, int) else windows
    is_one = len(windows) == 2 and all(isinstance(side, int) for side in windows)
    listed = [windows] * len(stages) if is_one else list(windows)
    sides = [side for window in listed for side in window]
    if len(listed) != len(stages) or not all(1 <= side <= _MOST for side in sides):
        raise CheckpointError(
            f"windows must be one, or one for each of the {len(stages)} stages, of 1 to {_MOST} "
            f"tokens a side, got {windows!r}"
        )
    return dict(zip(sorted(stages), map(tuple, listed), strict=True))
