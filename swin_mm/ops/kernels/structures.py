"""What the kernels' functions take, as :file:`kernels.h` has it."""

from __future__ import annotations

from ctypes import CDLL, POINTER, Structure, c_float, c_int, c_long, c_void_p


class Norm(Structure):
    """Weight and bias of a LayerNorm, and what is added to the variance."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p), ("eps", c_float))


class NormBackward(Structure):
    """A LayerNorm whose gradient is due."""

    _fields_ = tuple(
        (name, c_void_p) for name in ("rows", "index", "bias", "moments", "places", "weight")
    )


class AddBranch(Structure):
    """A branch that is added to tokens, and the norm of what comes of it."""

    _fields_ = (
        *((name, c_void_p) for name in ("x", "source", "branch", "bias")),
        ("last", Norm),
        *((name, c_void_p) for name in ("last_kept", "factor", "total", "target")),
        ("next", Norm),
        *((name, c_void_p) for name in ("given", "next_kept")),
        ("rows", c_long),
        ("channels", c_long),
    )


class Gradients(Structure):
    """Gradients on their way back past one branch and into the next."""

    _fields_ = (
        *((name, c_void_p) for name in ("above", "source", "given", "places")),
        ("norm", NormBackward),
        *((name, c_void_p) for name in ("result", "target", "branch", "factor")),
        ("last", NormBackward),
        ("sums", c_void_p * 5),
        ("rows", c_long),
        ("channels", c_long),
    )


class Attention(Structure):
    """What holds for all windows of a call."""

    _fields_ = (
        *((name, c_long) for name in ("windows", "tokens", "heads", "channels")),
        ("given", c_void_p),
        ("bias", c_void_p),
        ("regions", c_long),
        *((name, c_void_p) for name in ("ends", "masks", "cosine", "places")),
        ("scale", c_float),
        ("threads", c_int),
    )


NOTHING = (
    *("take_normed", "add_branch", "gradient_rows", "gelu", "gelu_backward", "attend"),
    *("attend_backward", "merge_normed", "norm_to_map"),
)
"""Functions that return nothing: those that compute."""


def declare(library: CDLL) -> None:
    """Tell ctypes what the functions take; ``halves`` comes first in all of them."""
    at, number, kind = c_void_p, c_long, c_int
    library.swin_mm_take_normed.argtypes = (
        kind, at, at, number, number, Norm, at, at, c_int,
    )  # fmt: skip
    library.swin_mm_add_branch.argtypes = (kind, POINTER(AddBranch), c_int)
    library.swin_mm_gradient_rows.argtypes = (kind, POINTER(Gradients), c_int)
    library.swin_mm_gelu.argtypes = (kind, at, at, at, number, number, c_int)
    library.swin_mm_gelu_backward.argtypes = (kind, at, at, at, at, at, number, number, c_int)
    library.swin_mm_attend.argtypes = (kind, POINTER(Attention), at, at)
    library.swin_mm_attend_backward.argtypes = (kind, POINTER(Attention), at, at, at, at)
    library.swin_mm_merge_normed.argtypes = (kind, at, Norm, at, *(number,) * 4, c_int)
    library.swin_mm_norm_to_map.argtypes = (kind, at, Norm, at, *(number,) * 3, c_int)
    library.swin_mm_head_sums.argtypes = (POINTER(Attention),)
    library.swin_mm_head_sums.restype = number
    library.swin_mm_lanes.restype = c_int
    for name in NOTHING:
        getattr(library, f"swin_mm_{name}").restype = None
