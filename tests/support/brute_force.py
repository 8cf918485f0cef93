"""Shifted window attention by its definition, token by token: no windows, rolls or masks."""

import itertools

import torch
from torch import Tensor

from swin_mm.layers import ShiftedWindowAttention


def attend_token_by_token(module: ShiftedWindowAttention, x: Tensor) -> Tensor:
    """Compute what the module adds to a map (1, H, W, C), in float64.

    A token at padded row r stands, after the shift by s, at (r - s) mod R of R padded rows. Two
    tokens meet if they stand in the same window and both or neither came around the border.
    """
    attention = module.w_msa
    (mh, mw), heads = attention.window_size, attention.num_heads
    height, width, channels = x.shape[1:]
    rows, columns = -(-height // mh) * mh, -(-width // mw) * mw
    down, across = (
        0 if not module.shifted or (module.small_maps == "still" and padded == side) else side // 2
        for padded, side in ((rows, mh), (columns, mw))
    )
    padded = torch.zeros(rows, columns, channels, dtype=torch.float64)
    padded[:height, :width] = x[0].double()
    weights = {name: value.double() for name, value in attention.named_parameters()}
    qkv = padded @ weights["qkv.weight"].T + weights["qkv.bias"]
    q, k, v = qkv.view(rows, columns, 3, heads, -1).unbind(2)
    table = weights["relative_position_bias_table"].view(2 * mh - 1, 2 * mw - 1, heads)

    def place(r: int, c: int) -> tuple[int, int, bool, bool]:
        """Row and column of the window, and whether the token came around either border."""
        return (r - down) % rows // mh, (c - across) % columns // mw, r < down, c < across

    out = torch.zeros(1, height, width, channels, dtype=torch.float64)
    for r, c in itertools.product(range(height), range(width)):
        keys = [
            (i, j)
            for i, j in itertools.product(range(rows), range(columns))
            if place(i, j) == place(r, c)
            and not (module.mask_padding and (i >= height or j >= width))
        ]
        scores = torch.stack(
            [
                (q[r, c] * k[i, j]).sum(-1) * attention.scale
                + table[r - i + mh - 1, c - j + mw - 1]
                for i, j in keys
            ]
        )  # (keys, heads)
        values = torch.stack([v[i, j] for i, j in keys])  # (keys, heads, d)
        mixed = (scores.softmax(0)[..., None] * values).sum(0).flatten()
        out[0, r, c] = mixed @ weights["proj.weight"].T + weights["proj.bias"]
    return out
