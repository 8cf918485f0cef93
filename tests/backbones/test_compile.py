"""The backbone through torch's compiler: how often, how exactly, and that all else goes on."""

import copy
import pickle

import pytest
import torch
from mmengine.model import ExponentialMovingAverage
from mmengine.registry import MODELS
from random_weights import randomise, worst_difference
from torch._dynamo.testing import CompileCounterWithBackend
from torch._inductor.exc import InvalidCxxCompiler

from swin_mm import SwinClassifier, SwinTransformer, SwinTransformerV2
from swin_mm.backbones.compile import Compiled, CompileError

ONE = {"embed_dims": 4, "depths": (1,), "num_heads": (2,), "strides": (4,), "out_indices": (0,)}
TWO = {**ONE, "depths": (1, 1), "num_heads": (1, 2), "strides": (4, 2), "out_indices": (0, 1)}
# Batch, height, width: odd ones, whole windows of 7, maps of one window, one token, batches.
SIZES = [(1, 64, 64), (1, 70, 61), (1, 90, 101), (2, 112, 112), (1, 56, 112), (2, 33, 47)]
SIZES += [(3, 28, 28), (1, 28, 28), (2, 1, 1), (1, 31, 150)]


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Let no test find what another one compiled."""
    torch._dynamo.reset()


@pytest.fixture
def counter():
    """Counts compilations, and leaves the graphs as they are."""
    return CompileCounterWithBackend("eager")


def build(network=SwinTransformer, **options):
    return randomise(network(**{**ONE, "drop_path_rate": 0.0, **options}))


def pair(counter, network=SwinTransformer, **options):
    """A compiled network, whose graph must be one, and the same one as it is."""
    compiled = build(network, compile={"backend": counter, "fullgraph": True}, **options)
    return compiled, build(network, **options)


def assert_same(ours, theirs, *, within=1e-5):
    assert max(worst_difference(a, b) for a, b in zip(ours, theirs, strict=True)) <= within


@pytest.mark.parametrize(
    ("network", "depths"),
    [(SwinTransformer, (1, 2)), (SwinTransformerV2, (1, 1))],
    ids=["v1", "v2"],
)
def test_ten_sizes_take_two_compilations(network, depths, counter):
    compiled, eager = (
        model.eval() for model in pair(counter, network, **{**TWO, "depths": depths})
    )
    counts = []
    with torch.no_grad():
        for batch, *size in SIZES:
            x = torch.randn(batch, 3, *size)
            assert_same(compiled(x), eager(x))
            counts.append(counter.frame_count)
    assert counts == [1] + [2] * 9


def test_so_they_do_in_training_and_gradients_are_the_eager_networks():
    counter = CompileCounterWithBackend("aot_eager")
    options = {**TWO, "compile": {"backend": counter, "dynamic": True}}
    compiled, eager = build(**options), build(**{**options, "compile": False})
    for batch, *size in SIZES[1:8]:
        x = torch.randn(batch, 3, *size)
        found = []
        for model in (compiled, eager):
            model.zero_grad()
            maps = model(x)
            sum(out.square().mean() for out in maps).backward()
            found.append([*maps, *(p.grad for p in model.parameters())])
        for ours, theirs in zip(*found, strict=True):
            assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max() + 1e-6
    assert counter.frame_count == 1  # asked for sizes of any kind, it need not see one first


def test_recomputing_is_compiled_too():
    counter = CompileCounterWithBackend("aot_eager")
    compiled, eager = pair(counter, with_cp=True)
    x = torch.randn(1, 3, 40, 50)
    found = []
    for model in (compiled, eager):
        model(x)[0].square().mean().backward()
        found.append([p.grad for p in model.parameters()])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)
    assert counter.frame_count == 1


def test_autocast_reaches_the_compiled_network(counter):
    compiled, eager = (model.eval() for model in pair(counter))
    x = torch.randn(1, 3, 40, 50)
    with torch.no_grad():
        exact = build().double().eval()(x.double())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            ours, theirs = compiled(x), eager(x)
    assert ours[0].dtype == theirs[0].dtype
    off = worst_difference(theirs[0].double(), exact[0])
    assert 1e-4 < worst_difference(ours[0].double(), exact[0]) < 1.5 * off


@pytest.mark.skipif(" " in torch.__file__, reason="torch's compiler fails in a path with spaces")
def test_what_torchs_own_compiler_makes_of_it_is_the_same():
    compiled, eager = (build(depths=(2,), compile=given).eval() for given in (True, False))
    x = torch.randn(1, 3, 41, 66)
    with torch.no_grad():
        assert_same(compiled(x), eager(x))


def test_nothing_is_compiled_before_the_first_pictures(counter):
    compiled, eager = (model.eval() for model in pair(counter))
    compiled.init_weights()
    compiled.load_state_dict(eager.state_dict())
    assert counter.frame_count == 0
    x = torch.randn(1, 3, 20, 20)
    with torch.no_grad():
        assert_same(compiled(x), eager(x))
        randomise(eager, seed=1)
        compiled.load_state_dict(eager.state_dict())
        assert_same(compiled(x), eager(x))  # weights are no constants
    assert counter.frame_count == 1


def test_parameters_keep_their_names_and_copies_what_was_compiled(counter):
    compiled, eager = (model.eval() for model in pair(counter))
    assert list(compiled.state_dict()) == list(eager.state_dict())
    x = torch.randn(1, 3, 20, 20)
    with torch.no_grad():
        compiled(x)
        again = copy.deepcopy(compiled)
        average = ExponentialMovingAverage(compiled.requires_grad_(False))
        for model in (again, average):
            assert_same(model(x), eager(x))
    assert counter.frame_count == 2  # parameters without gradients have a graph of their own


def test_a_pickle_holds_the_arguments_alone(counter):
    model = build(compile={"backend": "eager"}).eval()
    x = torch.randn(1, 3, 20, 20)
    expected = model(x)
    read = pickle.loads(pickle.dumps(model))
    assert read.compiled.options == {"backend": "eager"}
    assert_same(read(x), expected)


def test_hooks_and_modes_act_as_before(counter):
    model = build(compile={"backend": counter}, drop_rate=0.5)
    seen = []
    model.register_forward_hook(lambda module, given, out: seen.append(out[0].shape))
    x = torch.randn(4, 3, 20, 20)
    assert not torch.equal(model(x)[0], model(x)[0])
    model.eval()
    assert torch.equal(model(x)[0], model(x)[0])
    assert len(seen) == 4
    assert counter.frame_count == 2


def test_pictures_are_checked(counter):
    with pytest.raises(ValueError, match="got shape"):
        build(compile={"backend": counter})(torch.randn(1, 4, 20, 20))
    assert counter.frame_count == 0


def double(network, x):
    return [x * network]


@pytest.mark.parametrize("dynamic", [True, False, None])
def test_sizes_are_as_dynamic_as_asked_for_and_no_mark_stays(counter, dynamic):
    compiled = Compiled({"backend": counter, "dynamic": dynamic})
    for batch, *size in SIZES[:6]:
        x = torch.randn(batch, 3, *size)
        before = set(vars(x))
        assert torch.equal(*compiled(double, 2, x), 2 * x)
        assert set(vars(x)) == before
    assert counter.frame_count == {True: 1, None: 2, False: 6}[dynamic]


def test_exporting_sees_the_network_itself_and_leaves_nothing_behind(counter):
    compiled, eager = (model.eval() for model in pair(counter))
    x = torch.randn(2, 3, 20, 30)
    exported = torch.export.export(compiled, (x,)).module()
    assert copy.deepcopy(compiled).to("meta")(x.to("meta"))[0].is_meta
    assert counter.frame_count == 0
    for model in (exported, compiled):
        assert_same(model(x), eager(x))


def test_tracing_for_torchscript_sees_the_function_itself(counter):
    compiled, x = Compiled({"backend": counter}), torch.randn(1, 3, 20, 30)
    traced = torch.jit.trace(lambda x: compiled(double, 2, x)[0], x, check_trace=False)
    assert torch.equal(traced(x), 2 * x)
    assert counter.frame_count == 0


def test_it_is_part_of_what_a_host_compiles(counter):
    model = build(compile=True).eval()
    host = torch.compile(lambda x: model(x)[0] + 1, backend=counter, fullgraph=True)
    x = torch.randn(1, 3, 20, 20)
    assert_same([host(x)], [build().eval()(x)[0] + 1])
    assert counter.frame_count == 1


def test_a_config_and_a_classifier_take_it(counter):
    config = {"type": "swin_mm.SwinTransformerV2", **ONE, "compile": {"backend": counter}}
    MODELS.build(config)(torch.randn(1, 3, 20, 20))
    assert counter.frame_count == 1
    options = {key: value for key, value in ONE.items() if key != "out_indices"}
    model = SwinClassifier(**options, num_classes=3, compile={"backend": counter}).eval()
    assert model(torch.randn(1, 3, 20, 20)).shape == (1, 3)
    assert counter.frame_count == 2
    assert SwinTransformer(**ONE).compiled is None


def test_options_of_the_compiler_survive_torch_which_takes_them_apart(counter):
    model = build(compile={"backend": "inductor", "options": {"guard_filter_fn": all_of_them}})
    with torch.no_grad(), torch._dynamo.config.patch(disable=True):
        model(torch.randn(1, 3, 20, 20))
    assert model.compiled.options["options"] == {"guard_filter_fn": all_of_them}


def all_of_them(guards):
    return [True] * len(guards)


def without_a_compiler(graph, inputs):
    raise InvalidCxxCompiler


def without_luck(graph, inputs):
    raise RuntimeError("no luck")


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (without_a_compiler, r"needs a C\+\+ compiler.* CXX, or build .* with compile=False"),
        (without_luck, "failed, RuntimeError: no luck; compile=False computes the same"),
    ],
)
def test_a_failed_compilation_says_what_to_do(backend, message):
    model = build(compile={"backend": backend})
    with pytest.raises(CompileError, match=message):
        model(torch.randn(1, 3, 20, 20))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("max-autotune", ValueError, r"True, False or a dict .* got 'max-autotune'; a mode is"),
        (1, ValueError, "True, False or a dict"),
        (None, ValueError, "True, False or a dict"),
        ({"modee": 1}, TypeError, r"no keyword 'modee'; did you mean mode\?"),
        ({"model": 1}, TypeError, "no keyword 'model'"),
        ({"qqq": 1}, TypeError, "no keyword 'qqq'; it has fullgraph, dynamic, backend"),
        ({"mode": "default", "options": {"a": 1}}, ValueError, "a mode or options, not both"),
    ],
    ids=str,
)
def test_what_torchs_compiler_would_not_take_is_refused(given, kind, message):
    with pytest.raises(kind, match=message):
        SwinTransformer(**ONE, compile=given)
