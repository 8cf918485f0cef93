"""Tensors for compiled kernels: memory that may not be written, and how near is near."""

import contextlib

import torch
from hypothesis import strategies as st
from torch import Tensor

DTYPES = (torch.float32, torch.bfloat16)
WIDTHS = (1, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 49)
"""Channels around the lanes of both kinds of processors."""

RUNS = st.tuples(st.sampled_from([1, 1, 1, 1, 3]), st.integers(0, 2**16))
"""Threads, rarely several, as on a busy machine they wait for each other; and a seed."""

_GUARD, _MARK = 64, -77.0


@contextlib.contextmanager
def guarded(*tensors: tuple):
    """Tensors of some shapes and dtypes, (shape, dtype) each, and NaN in them.

    At the end an assertion sees to it that nothing was written before or behind them.
    """
    buffers, found = [], []
    for shape, dtype in tensors:
        number = torch.Size(shape).numel()
        buffers.append(torch.full((number + 2 * _GUARD,), _MARK, dtype=dtype))
        inside = buffers[-1][_GUARD : _GUARD + number]
        found.append(inside.fill_(float("nan")).view(shape))
    yield found
    for buffer in buffers:
        assert (buffer[:_GUARD] == _MARK).all(), "written before the tensor"
        assert (buffer[len(buffer) - _GUARD :] == _MARK).all(), "written behind the tensor"


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random numbers."""
    return torch.randn(shape).to(dtype)


def assert_near(ours: Tensor, exact: Tensor, relative: float = 1e-5, *, least: float = 0.0) -> None:
    """Off by so much of the largest value, and in bfloat16 by the rounding of each besides.

    Args:
        ours: in float32 or bfloat16.
        exact: in float64.
        relative: how much.
        least: what the largest value is taken for at least.
    """
    assert ours.shape == exact.shape
    if not exact.numel():
        return
    room = relative * max(float(exact.abs().max()), least)
    if ours.dtype == torch.bfloat16:
        room = room + exact.abs() * 2**-8
    off = (ours.double() - exact).abs()
    assert (off <= room).all(), f"off by {float(off.max())} of {float(exact.abs().max())}"
