"""Hypothesis strategies: values of any kind, for arguments of any name."""

import inspect
import math

import numpy as np
import torch
from hypothesis import strategies as st
from mmengine.config import ConfigDict

import swin_mm
from swin_mm.backbones.arguments import OFFICIAL_NAMES

SOUND = {
    "embed_dims": 4,
    "depths": (1, 1),
    "num_heads": (1, 2),
    "strides": (4, 2),
    "out_indices": (0, 1),
    "window_size": 2,
}
NUMBERS = [-1, 0, 1, 2, 3, 5, 0.5, 1.0, -0.0, 1e-30, math.nan, math.inf, -math.inf, True, False]
NUMBERS += [np.int64(2), np.float32(0.5), torch.tensor(2), torch.tensor([1.0, 2.0]), 2 + 0j]
WORDS = [None, "", "x", "7", "tiny", "shift", "still", "GELU", "LN", b"LN", "BN", "Linear", "None"]
NAMES = [name for name in inspect.signature(swin_mm.SwinClassifier).parameters]
NAMES += ["out_indices", "small_maps", "channels_last", "pretrained", "convert_weights"]
NAMES += [*OFFICIAL_NAMES, "depth", "windowsize", "pretrained_window_size"]
KINDS = [swin_mm.SwinTransformer, swin_mm.SwinTransformerV2, swin_mm.SwinClassifier]


def anything():
    """A number, a word, or lists and dicts of them."""
    leaf = st.sampled_from([*NUMBERS, *WORDS])
    keys = st.sampled_from(["type", "eps", "inplace", "requires_grad", "mode", "bias", "p", 3])
    typed = st.builds(
        lambda kind, rest: {**rest, "type": kind},
        st.sampled_from(["LN", "RMSNorm", "GELU", "ReLU", "BN", "Tanh", "Nothing", "Softmax"]),
        st.dictionaries(keys, leaf, max_size=2),
    )
    some = st.lists(leaf, max_size=4)
    return st.one_of(
        leaf,
        some,
        some.map(tuple),
        st.lists(st.lists(leaf, max_size=3), max_size=3),
        st.dictionaries(keys, leaf, max_size=2),
        typed,
        typed.map(ConfigDict),
        st.sampled_from([range(2), {1, 2}, np.array([1, 2]), torch.nn.GELU, object(), len]),
    )
