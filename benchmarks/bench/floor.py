"""The matrix products that no Swin can do without."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

WORDS = (
    "the backbone's linear layers (qkv and projection on padded windows, both of the FFN and "
    "merging on the map) and the patch convolution alone, bias included, back to back on the whole "
    "batch at the shapes that they meet, each on a tensor of its own, weights and inputs already "
    "in the precision compared; nothing of the attention's own products, norms, activations or "
    "copies"
)


def products(net: nn.Module, x: Tensor) -> Callable[[], None]:
    """Make a call that does a backbone's matrix products once.

    Shapes are noted by hooks, which are gone afterwards: a watched block does not run by chunks.

    Args:
        net: float32.
        x: pictures in the precision in which the products are to be done, (B, 3, H, W).
    """
    met: list[tuple[nn.Module, torch.Size]] = []

    def note(layer: nn.Module, given: tuple[Tensor, ...], _: Tensor) -> None:
        met.append((layer, given[0].shape))

    layers = [module for module in net.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    handles = [layer.register_forward_hook(note) for layer in layers]
    try:
        with torch.no_grad():
            net(x.float())
    finally:
        for handle in handles:
            handle.remove()
    ready = {layer: copy.deepcopy(layer).to(x.dtype) for layer in layers}
    work = [(ready[layer], torch.randn(shape).to(x.dtype)) for layer, shape in met]

    def call() -> None:
        with torch.no_grad():
            for layer, given in work:
                layer(given)

    return call
