"""DINO's files of MMDetection's own release, in the wider DINO of the maintained one.

DINO encodes the four numbers of a query's box by sines and cosines of several frequencies, and a
linear layer takes them. MMDetection 3.3, which trained the published files, has as many for each
number as half a query is wide (128, so 512 in all), as the authors' code; onedl-mmdetection 3.5 has
twice as many. Every second of those frequencies is one of the former, so that the narrow layer's
columns, at their places among zeros, compute the same.
"""

from __future__ import annotations

from collections.abc import MutableMapping

from mmengine.logging import print_log
from torch import Tensor, nn

LAYER = "decoder.ref_point_head.layers.0.weight"
_NUMBERS = 4  # of a box: its centre, width and height


def widen_box_encoding(tensors: MutableMapping[str, Tensor], model: nn.Module) -> None:
    """Bring the layer of a file, (C, 2 C), to a model's, (C, 4 C), in place; leave all others.

    Args:
        tensors: of a whole detector, under its names.
        model: the detector.
    """
    given = tensors.get(LAYER)
    own = dict(model.named_parameters()).get(LAYER) if given is not None else None
    if own is None or own.shape[0] != given.shape[0] or own.shape[1] != 2 * given.shape[1]:
        return
    wide = given.new_zeros(len(given), _NUMBERS, given.shape[1] // (2 * _NUMBERS), 2, 2)
    # A number's channels are sine and cosine of one frequency after the other.
    wide[:, :, :, 0] = given.unflatten(1, wide.shape[1:3] + wide.shape[4:])
    tensors[LAYER] = wide.flatten(1)
    print_log(
        f"The checkpoint is of MMDetection's own DINO: {LAYER} is spread from {given.shape[1]} to "
        f"{own.shape[1]} columns, which compute the same",
        logger="current",
    )
