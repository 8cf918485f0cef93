"""How much a network computes, attention and padding included."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def count_flops(module: nn.Module, shape: tuple[int, ...]) -> dict[str, int]:
    """Count the multiply-adds of a forward pass, as the papers count their "FLOPs".

    What is counted are the products that are run, by torch's own counter, on the meta device: so
    padded windows count in full, and nothing is computed.

    Args:
        module: a network that takes one tensor.
        shape: of its input, (B, C, H, W).

    Returns:
        Multiply-adds by module path, parents including their children; ``""`` is the whole.
    """
    on_meta = copy.deepcopy(module).to("meta").eval()
    dtype = next((p.dtype for p in on_meta.parameters() if p.is_floating_point()), None)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        on_meta(torch.empty(shape, dtype=dtype, device="meta"))
    root = type(on_meta).__name__
    return {
        path.removeprefix(root).removeprefix(".") if path != "Global" else "": sum(ops.values())
        // 2
        for path, ops in counter.get_flop_counts().items()
        if path != root
    }
