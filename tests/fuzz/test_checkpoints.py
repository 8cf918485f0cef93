"""Files of any layout, container and dtype, sound or damaged: the right numbers, or one error."""

import io
import pickle

import torch
from drawn_networks import KINDS, divisors, is_close
from hypothesis import given, settings
from hypothesis import strategies as st
from official_swin import Sizes, dense_outputs, official_state

from swin_mm.checkpoints import (
    LAYOUTS,
    CheckpointError,
    convert,
    describe,
    load_pretrained,
    read_checkpoint,
    save_checkpoint,
)

FUZZ = settings.get_profile("fuzz")
PREFIXES = ["", "module.", "backbone.", "_orig_mod.module.", "encoder.model.", "a.b."]
CONTAINERS = [(), ("state_dict",), ("model",), ("net",), ("model", "state_dict")]
ENDINGS = [".pth", ".safetensors", ".pkl", None]
DTYPES = [torch.float32, torch.float64, torch.float16]


@st.composite
def published(draw):
    """Sizes of a network and its weights as the authors' code would save them, and a picture."""
    stages = draw(st.integers(1, 3))
    embed_dim = draw(st.sampled_from([4, 8, 12]))
    sizes = Sizes(
        embed_dim,
        tuple(draw(st.integers(1, 2)) for _ in range(stages)),
        tuple(draw(st.sampled_from(divisors(embed_dim * 2**s)[:4])) for s in range(stages)),
        draw(st.integers(2, 5)),
        version=draw(st.sampled_from([1, 2])),
        mlp_ratio=draw(st.sampled_from([1, 2, 4])),
    )
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))

    def drawn(name, shape):
        return torch.randn(shape, generator=generator).mul(0.3).half().float()  # half loses nothing

    picture = torch.randn(1, 3, draw(st.integers(1, 40)), draw(st.integers(1, 40)))
    return sizes, official_state(sizes, drawn), picture


def network(sizes):
    return KINDS[sizes.version](
        embed_dims=sizes.embed_dim,
        depths=sizes.depths,
        num_heads=sizes.heads,
        strides=(4, *[2] * (len(sizes.depths) - 1)),
        out_indices=tuple(range(len(sizes.depths))),
        window_size=sizes.window,
        mlp_ratio=sizes.mlp_ratio,
        drop_path_rate=0.0,
    )


def wrapped(state, *, prefix, containers, dtype):
    file = {
        prefix + name: tensor.to(dtype) if tensor.is_floating_point() else tensor
        for name, tensor in state.items()
    }
    for container in reversed(containers):
        file = {container: file, "epoch": 3}
    return file


@FUZZ
@given(
    published(),
    st.sampled_from(PREFIXES),
    st.sampled_from(CONTAINERS),
    st.sampled_from(DTYPES),
    st.sampled_from(ENDINGS),
)
def test_any_sound_file_computes_what_its_authors_code_would(
    counted, tmp_path_factory, case, prefix, containers, dtype, ending
):
    counted()
    sizes, state, picture = case
    bare = ending in (".safetensors", ".pkl")
    file = wrapped(state, prefix=prefix, containers=() if bare else containers, dtype=dtype)
    if ending is not None:
        path = tmp_path_factory.getbasetemp() / f"sound{ending}"
        save_checkpoint(file, path)
        file = path
    net = network(sizes).eval()
    report = load_pretrained(net, file)
    assert not report.missing and not report.surprises, report
    with torch.no_grad():
        found = net.double()(picture.double())
    for ours, exact in zip(found, dense_outputs(state, picture, sizes), strict=True):
        assert is_close(ours, exact, 1e-9)


@FUZZ
@given(published(), st.sampled_from(sorted(LAYOUTS)), st.sampled_from(sorted(LAYOUTS)))
def test_what_two_conversions_keep_computes_the_same(counted, case, first, second):
    counted()
    sizes, state, _ = case
    window = (sizes.window, sizes.window)
    try:
        there = convert(state, first, window=window, allow_loss=True)
        back = convert(there.content, second, window=window, allow_loss=True)
    except CheckpointError as error:
        assert len(str(error)) > 40, error
        return
    net = network(sizes).eval()
    report = load_pretrained(net, back.content)
    missing = {name for name in report.missing if not name.startswith("norm")}
    if missing or there.lost or back.lost:  # some layouts have no norm for each output
        return
    truth = network(sizes).eval()
    load_pretrained(truth, state)
    for parameter, exact in zip(net.state_dict().items(), truth.state_dict().items(), strict=True):
        if parameter[0] not in report.missing:
            assert torch.equal(parameter[1], exact[1]), parameter[0]


@st.composite
def damage(draw):
    """What is done to a state dict, a number of times."""
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(
                    ["drop", "rename", "shape", "dtype", "swap", "nan", "text", "nest", "number"]
                ),
                st.integers(0, 10**6),
                st.integers(0, 5),
            ),
            min_size=1,
            max_size=4,
        )
    )


def damaged(state, changes):
    file = dict(state)
    for kind, at, number in changes:
        keys = sorted(file, key=str)
        key = keys[at % len(keys)]
        other = keys[at // 7 % len(keys)]
        if kind == "drop":
            del file[key]
        elif kind == "rename":
            cut = at % (len(key) + 1)
            file[key[:cut] + ".0aé/"[number % 5] + key[cut + number :]] = file.pop(key)
        elif kind == "shape":
            file[key] = torch.zeros([number, at % 4][: 1 + number % 2])
        elif kind == "dtype" and isinstance(file[key], torch.Tensor):
            to = [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.uint8]
            file[key] = file[key].to(to[number % 5])
        elif kind == "swap":
            file[key], file[other] = file[other], file[key]
        elif kind == "nan" and isinstance(file[key], torch.Tensor):
            file[key] = torch.full(file[key].shape, float("nan"))
        elif kind == "text":
            file[key] = ["text", None, 3, b"x", [1], {}][number]
        elif kind == "nest":
            file = {"state_dict": file} if number % 2 else {**file, "model": {key: file[key]}}
            return file
        elif kind == "number":
            file[number] = file[key]
            return file
        if not file:
            return file
    return file


@FUZZ
@given(published(), damage(), st.sampled_from(sorted(LAYOUTS)))
def test_a_damaged_file_loads_what_is_whole_or_is_one_clear_error(counted, case, changes, to):
    counted()
    sizes, state, _ = case
    file = damaged(state, changes)
    net = network(sizes)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    for attempt in (
        lambda: str(describe(file)),
        lambda: convert(file, to, window=(sizes.window, sizes.window), allow_loss=True),
        lambda: load_pretrained(net, file),
    ):
        report = None
        try:
            report = attempt()
        except CheckpointError as error:
            assert len(str(error)) > 40, error
    if report is None:  # of loading, the last: nothing was touched then
        after = net.state_dict()
        assert all(torch.equal(after[name], tensor) for name, tensor in before.items())


def sound_bytes():
    """One small file of each kind."""
    state = {"norm.weight": torch.ones(3), "norm.bias": torch.arange(3.0), "n": torch.tensor(2)}
    made = {}
    for kind, options in (
        ("zip", {}),
        ("old", {"_use_new_zipfile_serialization": False}),
    ):
        buffer = io.BytesIO()
        torch.save({"state_dict": state, "epoch": 1}, buffer, **options)
        made[kind] = buffer.getvalue()
    made["pickle"] = pickle.dumps({"model": {"w": [1.0, 2.0]}})
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    made["safetensors"] = len(header).to_bytes(8, "little") + header + b"\0" * 8
    return made


BYTES = sound_bytes()


@st.composite
def contents(draw):
    """Bytes of a file, damaged in up to four places, or of nothing in particular."""
    content = bytearray(draw(st.sampled_from([*BYTES.values(), b""])))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(content)))
        some = draw(st.binary(max_size=12))
        kind = draw(st.sampled_from(["cut", "put", "replace", "splice", "flip"]))
        if kind == "cut":
            del content[at:]
        elif kind == "put":
            content[at:at] = some
        elif kind == "replace":
            content[at : at + len(some)] = some
        elif kind == "splice":
            other = draw(st.sampled_from([*BYTES.values()]))
            content[at:] = other[draw(st.integers(0, len(other))) :]
        elif at < len(content):
            content[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(content)


@FUZZ
@given(contents(), st.sampled_from([".pth", ".safetensors", ".pkl", ".bin", ""]))
def test_a_file_of_any_bytes_is_read_or_one_clear_error(counted, tmp_path_factory, content, ending):
    counted()
    path = tmp_path_factory.getbasetemp() / f"bytes{ending}"
    path.write_bytes(content)
    try:
        found = read_checkpoint(path)
    except CheckpointError as error:
        assert len(str(error)) > 40, error
        assert path.name in str(error)
    else:
        assert isinstance(found, dict)
