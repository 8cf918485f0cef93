"""Where the windows of one feature map lie, and how to cut a map into them and put it back.

Letters: B batch, H W height and width of a map in tokens, C channels, Mh Mw height and width of
a window in tokens, N = Mh * Mw tokens a window, nW windows a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from swin_mm.ops.views import join_axes, split_axes

SmallMaps = Literal["shift", "still"]
_SMALL_MAPS = get_args(SmallMaps)


@dataclass(frozen=True)
class WindowPlan:
    """The windows of one feature map: its padding, its shift, its grid.

    A plan is made from the size of the map at hand, at call time, and holds numbers alone. The map
    is padded with zeros on the right and at the bottom to whole windows, then rolled up and left
    by the shift, then cut, as in the authors' detection code. Rolling before padding would bring
    row 0 to where the padding is expected (pytorch-image-models#2438).

    Attributes:
        size: height and width of the map, tokens.
        window: height and width of a window, tokens.
        shift: how far the map is rolled up and left, tokens.

    Raises:
        ValueError: if one is not height and width, a size is below 1, or a shift not within its
            window.
    """

    size: tuple[int, int]
    window: tuple[int, int]
    shift: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if torch.compiler.is_compiling():
            return  # checks would become guards on every size
        if not (
            all(map(_is_pair, (self.size, self.window, self.shift)))
            and min(*self.size, *self.window) >= 1
            and all(0 <= step < side for step, side in zip(self.shift, self.window, strict=True))
        ):
            raise ValueError(
                "a plan needs (height, width) of whole tokens >= 1 and shifts from 0 to less than "
                f"the window, got a map of {self.size} tokens, windows of {self.window}, a shift "
                f"of {self.shift}"
            )

    @classmethod
    def of(
        cls,
        size: tuple[int, int],
        window: tuple[int, int],
        *,
        shifted: bool = False,
        small_maps: SmallMaps = "shift",
    ) -> WindowPlan:
        """Plan a block of the network: half a window of shift in every second block.

        Args:
            size: height and width of the map, tokens.
            window: height and width of a window, tokens.
            shifted: whether this block shifts its windows.
            small_maps: what becomes of the shift on an axis along which the padded map is a single
                window. ``"shift"`` keeps it (the authors' detection code, MMDetection, Detectron2),
                ``"still"`` drops it, axis by axis (torchvision).

        Raises:
            ValueError: as the plan itself, and if ``small_maps`` is neither.
        """
        still = cls(size, window)
        if small_maps not in _SMALL_MAPS:
            raise ValueError(f"small_maps must be one of {_SMALL_MAPS}, got {small_maps!r}")
        if not shifted:
            return still
        shift = tuple(side // 2 for side in window)
        if small_maps == "still":
            shift = tuple(map(_still_if_small, shift, size, window))
        return cls(size, window, shift)

    @property
    def counts(self) -> tuple[int, int]:
        """Rows and columns of windows."""
        (height, width), (mh, mw) = self.size, self.window
        # One rounding down each, for the sake of tracers, which think long about nested signs.
        return (height + mh - 1) // mh, (width + mw - 1) // mw

    @property
    def num_windows(self) -> int:
        """Windows of one map, nW."""
        rows, columns = self.counts
        return rows * columns

    @property
    def padded_size(self) -> tuple[int, int]:
        """Height and width of the padded map, tokens."""
        (rows, columns), (mh, mw) = self.counts, self.window
        return rows * mh, columns * mw

    @property
    def padding(self) -> tuple[int, int]:
        """Rows of zeros at the bottom and columns of zeros on the right, tokens."""
        (height, width), (padded_height, padded_width) = self.size, self.padded_size
        return padded_height - height, padded_width - width

    @property
    def moves(self) -> bool:
        """Whether the map is rolled; a shift that an exporter does not know yet counts as one."""
        return any(isinstance(step, torch.SymInt) or step for step in self.shift)

    def lay_out(self, x: Tensor) -> Tensor:
        """Pad a map (B, H, W, C) to whole windows, then roll it by the shift."""
        bottom, right = self.padding
        if torch.compiler.is_compiling() or bottom or right:  # one traced graph serves both
            x = F.pad(x, (0, 0, 0, right, 0, bottom))
        return _roll(x, (-self.shift[0], -self.shift[1])) if self.moves else x

    def take_back(self, x: Tensor) -> Tensor:
        """Undo :meth:`lay_out`: roll back, then crop to (B, H, W, C)."""
        if self.moves:
            x = _roll(x, self.shift)
        if torch.compiler.is_compiling():
            # Not by slices, whose lengths are new unknowns to a tracer. And copied: a crop that
            # crops nothing is contiguous, which would set sizes of whole windows apart.
            x = x.narrow(1, 0, self.size[0]).narrow(2, 0, self.size[1])
            return x.clone(memory_format=torch.contiguous_format)
        return x[:, : self.size[0], : self.size[1]] if any(self.padding) else x


def _is_pair(numbers: object) -> bool:
    """Say whether these are height and width; while tracing, numbers are of kinds of their own."""
    return (
        isinstance(numbers, tuple)
        and len(numbers) == 2
        and not any(isinstance(number, float | str | bool | None) for number in numbers)
    )


def _still_if_small(shift: int, tokens: int, side: int) -> int:
    """Drop the shift along an axis of a single window; all in tokens, which may be unknown yet."""
    if isinstance(tokens, torch.SymInt):  # a condition would be decided for good by one size
        return shift * torch.sym_min((tokens - 1) // side, 1)
    return shift if tokens > side else 0


def _roll(x: Tensor, shift: tuple[int, int]) -> Tensor:
    """Roll a map (B, H, W, C) down and right, tokens."""
    if not any(isinstance(step, torch.SymInt) for step in shift):
        return x.roll(shift, dims=(1, 2))
    for axis, step in enumerate(shift, start=1):  # exporters roll by known shifts only
        length = x.shape[axis]
        source = torch.arange(length, device=x.device) - step
        source = source.where(source >= 0, source + length)
        source = source.where(source < length, source - length)
        x = x.index_select(axis, source)
    return x


def cut_windows(x: Tensor, window: tuple[int, int]) -> Tensor:
    """Cut a map of whole windows (B, H, W, C) into windows (B * nW, N, C), row after row."""
    mh, mw = window
    batch, height, width, channels = x.shape
    rows, columns = height // mh, width // mw
    x = split_axes(x, (batch, rows, mh, columns, mw, channels)).transpose(2, 3)
    return join_axes(x, (batch * rows * columns, mh * mw, channels))


def join_windows(windows: Tensor, window: tuple[int, int], counts: tuple[int, int]) -> Tensor:
    """Put windows (B * nW, N, C) back into a map (B, rows * Mh, columns * Mw, C).

    Args:
        windows: what :func:`cut_windows` gave, or something of that shape made from it.
        window: height and width of a window, tokens.
        counts: rows and columns of windows of one map.
    """
    (mh, mw), (rows, columns), channels = window, counts, windows.shape[-1]
    batch = windows.shape[0] // (rows * columns)
    x = split_axes(windows, (batch, rows, columns, mh, mw, channels)).transpose(2, 3)
    return join_axes(x, (batch, rows * mh, columns * mw, channels))
