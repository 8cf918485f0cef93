"""Compiled kernels for what torch's own operators do slowly on a CPU; see docs/kernels.md."""

from swin_mm.ops.kernels.attention import AttentionKernel
from swin_mm.ops.kernels.library import are_loaded, level, library, why_not, without_kernels
from swin_mm.ops.kernels.maps import merge_normed, norm_to_map
from swin_mm.ops.kernels.rows import (
    Branch,
    Input,
    NormTensors,
    add_branch,
    gelu,
    gelu_backward,
    gradient_rows,
    take_normed,
)

__all__ = [
    "AttentionKernel",
    "Branch",
    "Input",
    "NormTensors",
    "add_branch",
    "are_loaded",
    "gelu",
    "gelu_backward",
    "gradient_rows",
    "level",
    "library",
    "merge_normed",
    "norm_to_map",
    "take_normed",
    "why_not",
    "without_kernels",
]
