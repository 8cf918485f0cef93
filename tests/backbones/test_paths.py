"""Inference, training and recomputing, in one piece or by chunks: what holds on each of them."""

from contextlib import nullcontext

import pytest
import torch
from random_weights import randomise, worst_difference

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.ops.chunks import ChunkCache
from swin_mm.ops.kernels import without_kernels

SIZES = {"embed_dims": 8, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
SIZES |= {"out_indices": (0, 1)}


@pytest.fixture(params=[SwinTransformer, SwinTransformerV2], ids=["v1", "v2"])
def build(request):
    """Makes a narrow network with random weights."""
    return lambda **options: randomise(request.param(**{**SIZES, **options}))


@pytest.fixture(params=["by kernels", "by operators", "whole"])
def division(request, monkeypatch):
    """Several chunks to a map, by either worker, or none."""
    if request.param == "whole":
        monkeypatch.setattr("swin_mm.layers.block.can_run_by_chunks", lambda *_: False)
        yield
        return
    if request.param == "by kernels":
        request.getfixturevalue("kernels")
    monkeypatch.setattr("swin_mm.ops.chunks.BYTES", 800)
    monkeypatch.setattr("swin_mm.layers.chunk_job.CHUNKS", ChunkCache())
    with without_kernels() if request.param == "by operators" else nullcontext():
        yield


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def train(model, x):
    """Maps, then the gradient of every parameter that learns."""
    torch.manual_seed(2)
    model.zero_grad()
    maps = model(x)
    sum(out.square().mean() for out in maps).backward()
    learned = [p.grad for p in model.parameters() if p.requires_grad]
    return [*(out.detach() for out in maps), *learned]


DROPS = {"drop_rate": 0.2, "attn_drop_rate": 0.2, "drop_path_rate": 0.5}


@pytest.mark.usefixtures("division", "deterministic")
@pytest.mark.parametrize("options", [{}, {"drop_path_rate": 0.5}, DROPS], ids=str)
@pytest.mark.parametrize("with_cp", [False, True])
def test_two_runs_of_one_seed_are_equal_bit_for_bit(build, options, with_cp):
    model = build(**{"drop_path_rate": 0.0, **options, "with_cp": with_cp})
    x = torch.randn(3, 3, 50, 90)
    assert all(map(torch.equal, train(model, x), train(model, x)))
    model.eval()
    with torch.no_grad():
        assert all(map(torch.equal, model(x), model(x)))


@pytest.mark.usefixtures("division")
@pytest.mark.parametrize("frozen_stages", [0, 1, 2])
def test_frozen_stages_change_no_map_and_what_learns_learns_the_same(build, frozen_stages):
    """With chunks or without, recomputing or not."""
    x = torch.randn(2, 3, 50, 90)
    free = build(drop_path_rate=0.0)
    train(free, x)
    grads = {name: p.grad for name, p in free.named_parameters()}
    for with_cp in (False, True):
        model = build(drop_path_rate=0.0, with_cp=with_cp, frozen_stages=frozen_stages)
        if frozen_stages == 2:  # nothing is left that learns
            assert not any(out.requires_grad for out in model(x))
            continue
        assert max(map(worst_difference, train(model, x), free(x))) < 1e-5
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                floor = 1e-6 + 1e-4 * grads[name].abs().max()
                assert (parameter.grad - grads[name]).abs().max() < floor, name
            else:
                assert parameter.grad is None


@pytest.mark.usefixtures("division")
@pytest.mark.parametrize("options", [{"drop_path_rate": 0.5}, DROPS], ids=str)
def test_recomputing_drops_what_was_dropped(build, options):
    """The seed moves on between the passes: what was drawn must be kept."""
    x, results = torch.randn(6, 3, 40, 60).double(), []
    for with_cp in (False, True):
        model = build(**options, with_cp=with_cp).double()
        torch.manual_seed(4)
        maps = model(x)
        torch.manual_seed(5)
        sum(out.square().mean() for out in maps).backward()
        results.append([*maps, *(p.grad for p in model.parameters())])
    for plain, again in zip(*results, strict=True):
        torch.testing.assert_close(again, plain)
