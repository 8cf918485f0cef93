"""What stays after a forward pass: little memory, and nothing that depends on weights."""

import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from random_weights import randomise

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.ops.chunks import ChunkCache

SIZES = {"embed_dims": 8, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
SIZES |= {"out_indices": (0, 1), "drop_path_rate": 0.0}


@pytest.fixture(params=[SwinTransformer, SwinTransformerV2], ids=["v1", "v2"])
def kind(request):
    return request.param


def grown(root, tmp_path, *options):
    """MB by which the memory of a process grew from 50 sizes to all, and what our caches keep."""
    words = ["--networks", "narrow", "--longest", "128", *options]
    command = [sys.executable, str(root / "benchmarks/growth.py"), *words]
    subprocess.run([*command, "--out", str(tmp_path / "found.json")], check=True)
    return json.loads((tmp_path / "found.json").read_text())["results"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")
@pytest.mark.parametrize(
    ("sizes", "tasks"), [(1000, ["inference"]), (200, ["training", "training with_cp"])]
)
def test_a_thousand_random_sizes_leave_little_more_than_fifty_did(root, tmp_path, sizes, tasks):
    results = grown(root, tmp_path, "--sizes", str(sizes), "--tasks", *tasks)
    assert len(results) == len(tasks)
    for name, found in results.items():
        assert found["difference"]["held"] < 64, name
        assert all(cache["holds"] <= cache["limit"] for cache in found["kept"].values()), name


@pytest.mark.usefixtures("worker")
def test_caches_of_many_sizes_stay_within_their_bytes(monkeypatch):
    cache = ChunkCache(limit=100_000)
    monkeypatch.setattr("swin_mm.layers.chunk_job.CHUNKS", cache)
    model = randomise(SwinTransformer(**SIZES)).eval()
    for side in range(20, 100, 4):
        with torch.no_grad():
            model(torch.randn(1, 3, side, 2 * side))
        kept = [chunks for chunks, _ in cache._cache._values.values()]
        assert sum(chunk.nbytes for chunks in kept for chunk in chunks) == cache.size <= 100_000
    assert cache.size > 50_000


def optimizer_step(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    sum(out.square().mean() for out in model(torch.randn(1, 3, 40, 40))).backward()
    optimizer.step()


def new_parameters(model):
    for module in model.modules():
        for name, old in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(old.detach() + 0.1))


def other_data(model):
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.1


def edited_data(model):
    for parameter in model.parameters():
        parameter.data.add_(0.1)


def loaded(model):
    model.load_state_dict(randomise(type(model)(**SIZES), seed=7).state_dict())


def loaded_in_place_of(model):
    other = randomise(type(model)(**SIZES), seed=7).state_dict()
    model.load_state_dict(other, assign=True)


def half_and_back(model):
    model.bfloat16().float()


def in_double(model):
    model.double()


CHANGES = [
    optimizer_step,
    new_parameters,
    other_data,
    edited_data,
    loaded,
    loaded_in_place_of,
    half_and_back,
    in_double,
]


def run(model, mode):
    """Maps of a network, and its gradients where it trains."""
    x = torch.randn(1, 3, 40, 70, generator=torch.Generator().manual_seed(1))
    x = x.to(next(model.parameters()).dtype)
    if mode != "training":
        with torch.inference_mode() if mode == "inference_mode" else torch.no_grad():
            return model(x)
    model.zero_grad()
    maps = model(x)
    sum(out.square().mean() for out in maps).backward()
    return [*(out.detach() for out in maps), *(p.grad.clone() for p in model.parameters())]


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_nothing_that_is_kept_survives_a_change_of_weights(kind, change, with_cp):
    model = randomise(kind(**SIZES, with_cp=with_cp))
    modes = ("inference_mode", "no_grad", "training", "inference_mode", "training")
    before = [run(model, mode) for mode in modes]
    change(model)
    fresh = kind(**SIZES, with_cp=with_cp).to(next(model.parameters()).dtype)
    fresh.load_state_dict(model.state_dict())
    for mode, old in zip(modes, before, strict=True):
        found = run(model, mode)
        assert all(map(torch.equal, found, run(fresh, mode)))
        assert found[0].dtype != old[0].dtype or not torch.equal(found[0], old[0])


@pytest.mark.usefixtures("worker")
def test_copies_share_nothing(kind):
    model = randomise(kind(**SIZES, with_cp=True))
    before = run(model, "training")
    other = randomise(copy.deepcopy(model), seed=3)
    assert not torch.equal(run(other, "training")[0], before[0])
    assert all(map(torch.equal, run(model, "training"), before))


@pytest.mark.usefixtures("worker")
def test_eight_threads_with_sizes_of_their_own_equal_one(kind, monkeypatch):
    """They train, in caches so small that the threads push out each other's values."""
    monkeypatch.setattr("swin_mm.layers.chunk_job.CHUNKS", ChunkCache(limit=20_000))
    model = randomise(kind(**SIZES, with_cp=True))
    pictures = [torch.randn(1, 3, 20 + 5 * i, 100 - 5 * i) for i in range(16)]

    def train(x):
        loss = sum(out.square().mean() for out in model(x))
        return torch.autograd.grad(loss, list(model.parameters()))

    alone = [train(x) for x in pictures]
    with ThreadPoolExecutor(8) as pool:
        for ours, theirs in zip(pool.map(train, pictures), alone, strict=True):
            assert all(map(torch.equal, ours, theirs))
