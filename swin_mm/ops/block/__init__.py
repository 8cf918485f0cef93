"""What a block does to some windows: plain, fast, and the fast one's gradient."""

from swin_mm.ops.block.backward import GradientSums, block_backward
from swin_mm.ops.block.fast import FLAT, Kept, block_forward
from swin_mm.ops.block.reference import reference_block
from swin_mm.ops.block.weights import BlockWeights, LinearWeights, NormWeights
from swin_mm.ops.block.windows import WindowBatch

__all__ = [
    "FLAT",
    "BlockWeights",
    "GradientSums",
    "Kept",
    "LinearWeights",
    "NormWeights",
    "WindowBatch",
    "block_backward",
    "block_forward",
    "reference_block",
]
