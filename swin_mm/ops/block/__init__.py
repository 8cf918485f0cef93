"""What a block does to some windows: plain, fast, and the fast one's gradient."""

from swin_mm.ops.block.backward import block_backward
from swin_mm.ops.block.compiled import KernelBlock, can_run_kernels, kernels_have
from swin_mm.ops.block.fast import FLAT, Kept, block_forward
from swin_mm.ops.block.kept import KernelKept
from swin_mm.ops.block.reference import reference_block
from swin_mm.ops.block.sums import GradientSums
from swin_mm.ops.block.weights import BlockWeights, LinearWeights, NormWeights
from swin_mm.ops.block.windows import MapPlaces, WindowBatch

__all__ = [
    "FLAT",
    "BlockWeights",
    "GradientSums",
    "Kept",
    "KernelBlock",
    "KernelKept",
    "LinearWeights",
    "MapPlaces",
    "NormWeights",
    "WindowBatch",
    "block_backward",
    "block_forward",
    "can_run_kernels",
    "kernels_have",
    "reference_block",
]
