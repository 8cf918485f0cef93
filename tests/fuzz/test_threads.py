"""Eight threads through one module: bit for bit what one after the other gives."""

from concurrent.futures import ThreadPoolExecutor

import torch
from drawn_networks import build, options, pictures, sizes
from hypothesis import given, settings
from hypothesis import strategies as st

import swin_mm.layers.attention
import swin_mm.layers.chunk_job
from swin_mm.ops.chunks import ChunkCache
from swin_mm.ops.mask_cache import MaskCache

FUZZ = settings.get_profile("fuzz")


@st.composite
def cases(draw):
    version, made_of = draw(options())
    every = st.lists(sizes(made_of["patch_size"], batches=1, tokens=6), min_size=8, max_size=8)
    return version, made_of, draw(every)


def run(net, x, *, learns):
    if not learns:
        with torch.no_grad():
            return net(x)
    out = net(x.requires_grad_())
    total = sum(one.square().sum() for one in out)
    return [*out, *torch.autograd.grad(total, [x, *filter(learning, net.parameters())])]


def learning(parameter):
    return parameter.requires_grad


@FUZZ
@given(cases(), st.booleans(), st.sampled_from([2**24, 20_000, 1]))
def test_eight_threads_give_what_one_gives(counted, case, learns, room):
    counted()
    version, made_of, every = case
    made_of = {**made_of, "frozen_stages": -1}
    net = build(version, made_of)
    given_to = [
        pictures(size, made_of["in_channels"], memory="contiguous", seed=seed).float()
        for seed, size in enumerate(every)
    ]
    before = swin_mm.layers.chunk_job.CHUNKS, swin_mm.layers.attention.MASKS
    chunks, masks = (
        ChunkCache(limit=room),
        MaskCache(limit=room),
    )  # small: they throw each other out
    try:
        swin_mm.layers.chunk_job.CHUNKS = chunks
        swin_mm.layers.chunk_job.MASKS = swin_mm.layers.attention.MASKS = masks
        with ThreadPoolExecutor(8) as threads:
            together = list(threads.map(lambda x: run(net, x.clone(), learns=learns), given_to))
        alone = [run(net, x.clone(), learns=learns) for x in given_to]
    finally:
        swin_mm.layers.chunk_job.CHUNKS = before[0]
        swin_mm.layers.chunk_job.MASKS = swin_mm.layers.attention.MASKS = before[1]
    for one, other in zip(together, alone, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
