"""Arguments and inputs of any kind: a network that works, or a clear ValueError or TypeError."""

import warnings

import numpy as np
import torch
from drawn_arguments import KINDS, NAMES, SOUND, anything
from hypothesis import given, settings
from hypothesis import strategies as st

import swin_mm
from swin_mm.backbones.arguments import OFFICIAL_NAMES

FUZZ = settings.get_profile("fuzz")


@FUZZ
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), anything(), max_size=3))
def test_any_arguments_make_a_network_that_works_or_one_clear_error(counted, kind, changes):
    counted()
    sound = dict(SOUND)
    if kind is swin_mm.SwinClassifier:
        del sound["out_indices"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the official names, of activations without a dimension
        try:
            net = kind(**{**sound, **changes}).eval()
        except (ValueError, TypeError) as error:
            names = {*changes, *(OFFICIAL_NAMES.get(name, name) for name in changes)}
            assert len(str(error)) > 25, error
            assert any(name in str(error) for name in [*names, "torch.compile"]), error
            return
    body = getattr(net, "backbone", net)
    body.compiled = None  # has tests of its own
    with torch.no_grad():
        out = net(torch.rand(1, body.patch_embed.projection.in_channels, 9, 7))
    assert all(one.isfinite().all() for one in out)
    if net is body:
        assert [one.shape[1] for one in out] == net.out_channels


NETS = {kind: kind(**SOUND).eval() for kind in KINDS[:2]}
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 9]), max_size=5).map(tuple)
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8]
DTYPES += [torch.bool, torch.complex64]


def pictures_of_any_kind():
    tensors = st.builds(
        lambda shape, dtype: torch.ones(shape).to(dtype), SHAPES, st.sampled_from(DTYPES)
    )
    good = st.builds(
        lambda batch, tall, wide, dtype: torch.rand(batch, 3, tall, wide).to(dtype),
        st.integers(0, 2), st.integers(0, 9), st.integers(0, 9), st.sampled_from(DTYPES),
    )  # fmt: skip
    strange = [None, 3, "x.jpg", [torch.rand(3, 8, 8)], np.zeros((1, 3, 8, 8)), {}]
    sparse = torch.rand(1, 3, 8, 8).to_sparse()
    return st.one_of(tensors, good, st.sampled_from([*strange, sparse]))


@FUZZ
@given(
    st.sampled_from(KINDS[:2]), pictures_of_any_kind(), st.sampled_from(DTYPES[:4]), st.booleans()
)
def test_any_input_gives_maps_or_one_clear_error(counted, kind, x, dtype, autocast):
    counted()
    net = NETS[kind].to(dtype)
    try:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            maps = net(x)
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 25, error
        assert autocast or not is_sound(x, dtype), error
        return
    halves = [(x.shape[2], x.shape[3])]
    for step in (4, 2):
        halves.append(tuple(-(-side // step) for side in halves[-1]))
    assert [tuple(out.shape) for out in maps] == [
        (x.shape[0], channels, *half) for channels, half in zip((4, 8), halves[1:], strict=True)
    ]
    assert all(out.isfinite().all() for out in maps)


def is_sound(x, dtype):
    is_picture = isinstance(x, torch.Tensor) and x.layout == torch.strided and x.dtype == dtype
    return is_picture and x.dim() == 4 and x.shape[1] == 3 and 0 not in x.shape[2:]
