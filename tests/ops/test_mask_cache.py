from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from random_weights import randomise
from torch._subclasses.fake_tensor import FakeTensorMode

from swin_mm import SwinTransformer
from swin_mm.ops.mask_cache import MASKS, MaskCache
from swin_mm.ops.masks import Region, regions
from swin_mm.ops.windows import WindowPlan


def corner(side: int) -> Region:
    return regions(WindowPlan.of((2 * side, 2 * side), (side, side), shifted=True))[1][1]


def network(**more):
    options = {"embed_dims": 8, "depths": (2, 2), "num_heads": (1, 2), "strides": (4, 2)}
    return randomise(SwinTransformer(**{**options, "out_indices": (0, 1), **more})).eval()


@pytest.mark.usefixtures("worker")
def test_a_mask_is_built_once_for_all_blocks_and_forwards(monkeypatch):
    built = []
    original = Region.mask
    monkeypatch.setattr(
        Region, "mask", lambda *args: built.append(args) or original(*args), raising=True
    )
    monkeypatch.setattr("swin_mm.layers.chunk_job.MASKS", MaskCache())
    model, x = network(), torch.randn(1, 3, 65, 93)
    model(x)
    first = len(built)
    assert first == 4  # plain windows are of the inner kind; both stages share
    model(torch.randn(1, 3, 70, 40))
    assert len(built) == first


@pytest.mark.usefixtures("kernels")
def test_a_table_is_its_mask_as_scores_in_rows_of_whole_vectors():
    cache, region = MaskCache(), corner(3)
    with torch.inference_mode():
        table = cache.table(region, (3, 3), torch.zeros(1, dtype=torch.bfloat16))
    mask = cache.mask(region, (3, 3), torch.zeros(1))
    assert table.dtype == torch.float32
    assert table.is_contiguous()
    assert not table.is_inference()
    assert table.shape == (9, 16)
    assert torch.equal(table[:, :9] == 0, mask)
    assert table[~F.pad(mask, (0, 7))].tolist() == [float("-inf")] * (9 * 16 - int(mask.sum()))
    assert cache.table(region, (3, 3), torch.zeros(1)) is table
    assert cache.size == mask.nbytes + table.nbytes


@pytest.mark.usefixtures("kernels")
def test_what_hides_nothing_has_no_table():
    cache, inner = MaskCache(), regions(WindowPlan.of((6, 6), (3, 3)))[0][0]
    assert cache.table(inner, (3, 3), torch.zeros(1)) is None
    assert cache.size == 0


def test_the_bytes_are_bounded_and_the_oldest_goes_first():
    cache, like = MaskCache(limit=2 * 9**2 + 4**2), torch.zeros(1)
    old = cache.mask(corner(3), (3, 3), like)
    cache.mask(corner(3), (3, 3), like)
    assert cache.size == 81
    cache.mask(corner(2), (2, 2), like)
    assert cache.mask(corner(3), (3, 3), like) is old
    cache.mask(corner(4), (4, 4), like)  # 256 bytes are more than all that is allowed
    assert cache.size <= cache.limit
    assert cache.mask(corner(3), (3, 3), like) is not old


def test_maps_of_any_size_share_their_masks():
    model = network()
    with torch.no_grad():
        model(torch.randn(1, 3, 64, 64))
        before = MASKS.size
        for side in (60, 90, 121, 150):
            model(torch.randn(1, 3, side, 2 * side))
    assert MASKS.size == before


def test_pretended_tensors_neither_fill_the_cache_nor_take_from_it():
    cache = MaskCache()
    with FakeTensorMode():
        cache.mask(corner(3), (3, 3), torch.zeros(1))
    assert cache.size == 0
    assert type(cache.mask(corner(3), (3, 3), torch.zeros(1))) is torch.Tensor


@pytest.mark.filterwarnings("ignore")  # each number that becomes a constant
def test_torchscript_finds_the_same_graph_at_every_trace(monkeypatch):
    monkeypatch.setattr("swin_mm.layers.attention.MASKS", MaskCache())
    one = {"depths": (2,), "num_heads": (1,), "strides": (4,), "out_indices": (0,)}
    model = network(mask_padding=True, **one)
    x = torch.randn(1, 3, 33, 40)
    with torch.no_grad():
        traced = torch.jit.trace(model, x)  # traces twice, and compares
        other = torch.randn(1, 3, 33, 40)
        torch.testing.assert_close(traced(other), model(other))


def test_torch_func_leaves_nothing_of_its_own():
    cache = MaskCache()

    def through(x):
        assert cache.mask(corner(3), (3, 3), x).shape == (9, 9)
        return x.sum()

    torch.func.grad(through)(torch.zeros(1))
    assert cache.size == 0


def test_a_cuda_graph_neither_fills_the_cache_nor_reads_from_it(monkeypatch):
    cache, like = MaskCache(), torch.zeros(1)
    kept = cache.mask(corner(3), (3, 3), like)
    monkeypatch.setattr("swin_mm.ops.mask_cache.is_recorded", lambda x: True)
    assert cache.mask(corner(3), (3, 3), like) is not kept
    before = cache.size
    cache.mask(corner(4), (4, 4), like)
    assert cache.size == before


def test_an_export_leaves_eager_mode_as_it_was():
    model, x = network(), torch.randn(1, 3, 64, 64)
    expected = model(x)[1]
    torch.export.export(model, (x,))
    assert torch.equal(model(x)[1], expected)


def test_a_mask_made_in_inference_mode_serves_training(monkeypatch):
    monkeypatch.setattr("swin_mm.layers.attention.MASKS", MaskCache())
    model, x = network(), torch.randn(1, 3, 50, 50)
    with torch.inference_mode():
        model(x)
    sum(out.sum() for out in model(x)).backward()


def test_threads_share_one_network():
    model = network()
    pictures = [torch.randn(1, 3, 20 + 7 * i, 60) for i in range(16)]
    with torch.no_grad():
        serial = [model(x)[1] for x in pictures]
        with ThreadPoolExecutor(8) as pool:
            threaded = list(pool.map(lambda x: torch.no_grad()(model)(x)[1], pictures))
    assert all(torch.equal(a, b) for a, b in zip(serial, threaded, strict=True))
