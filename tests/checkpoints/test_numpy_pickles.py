import contextlib
import copyreg
import functools
import operator
import os
import pickle
import struct
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from swin_mm.checkpoints import CheckpointError, read_checkpoint

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)

ARRAYS = {
    "float32": NUMBERS,
    "float64": NUMBERS.astype(np.float64),
    "float16": NUMBERS.astype(np.float16),
    "int64": np.arange(3),
    "bool": np.array([True, False]),
    "column by column": np.asfortranarray(NUMBERS),
    "every second": NUMBERS[:, ::2],
    "other byte order": NUMBERS.astype(">f8"),
    "no dimension": np.array(2.5),
    "past a frame": np.arange(20000.0),
    "empty": np.zeros((0, 3), np.float32),
}


class Calls:
    """Unpickles as the result of a call."""

    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


def write(path, content, protocol=4):
    path.write_bytes(pickle.dumps(content, protocol))
    return path


@pytest.fixture
def reread(tmp_path):
    """Return a function that pickles something as detectron2 does and reads it."""

    def write_and_read(value, protocol=4):
        content = {"model": {"a": value}, "__author__": "x", "matching_heuristics": True}
        return read_checkpoint(write(tmp_path / "a.pkl", content, protocol))["model"]["a"]

    return write_and_read


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_become_tensors_of_the_same_numbers(reread, kind, protocol):
    tensor, array = reread(ARRAYS[kind], protocol), ARRAYS[kind]
    assert tensor.is_contiguous() and tensor.shape == array.shape
    assert tensor.numpy().dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_tensors_in_a_plain_pickle_are_read(reread, protocol):
    for tensor in (
        torch.arange(6.0).view(2, 3).mT,
        torch.arange(6.0)[2:4],
        torch.ones(2, dtype=torch.bfloat16),
        torch.nn.Parameter(torch.ones(2)),
        torch.tensor(3),
    ):
        read = reread(tensor, protocol)
        assert read.dtype == tensor.dtype and torch.equal(read, tensor)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_surrounds_the_weights_is_read(tmp_path, protocol):
    content = {
        "model": OrderedDict(a=NUMBERS),
        "lr": np.float64(0.5),
        "step": np.int64(3),
        "rest": [None, True, 2**70, -1.5, ("é", {}), b""],
    }
    content["model"]._metadata = {"": {"version": 1}}
    read = read_checkpoint(write(tmp_path / "a.pkl", content, protocol))
    assert isinstance(read["model"], OrderedDict)
    assert {**read, "model": 0} == {**content, "model": 0}


def test_an_array_that_has_two_names_has_its_numbers_under_both(reread):
    one, other = reread([NUMBERS, NUMBERS])
    assert torch.equal(one, torch.from_numpy(NUMBERS)) and torch.equal(one, other)


def test_numpy_1_wrote_other_names(tmp_path):
    written = pickle.dumps({"model": {"a": NUMBERS}}, 3)
    (tmp_path / "a.pkl").write_bytes(written.replace(b"numpy._core.", b"numpy.core."))
    assert read_checkpoint(tmp_path / "a.pkl")["model"]["a"].tolist() == NUMBERS.tolist()


def test_python_2_wrote_bytes_as_text(tmp_path):
    numbers = struct.pack("<2f", 1.5, -200.25)
    state = b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R"
    state += b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x08" + numbers + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R" + state
    (tmp_path / "a.pkl").write_bytes(b"\x80\x02}U\x05model}U\x01a" + array + b"ss.")
    assert read_checkpoint(tmp_path / "a.pkl")["model"]["a"].tolist() == [1.5, -200.25]


def test_tensors_may_be_written_to(reread):
    reread(NUMBERS).add_(1)
    assert NUMBERS[0, 0] == 0


def test_the_device_is_the_callers(tmp_path):
    path = write(tmp_path / "a.pkl", {"a": NUMBERS, "b": torch.ones(2)})
    assert all(tensor.is_meta for tensor in read_checkpoint(path, map_location="meta").values())


def test_the_content_tells_a_plain_pickle_from_torchs(tmp_path):
    torch.save({"a": torch.ones(2)}, tmp_path / "torchs.pkl", _use_new_zipfile_serialization=False)
    write(tmp_path / "plain.pth", {"a": NUMBERS})
    for name in ("torchs.pkl", "plain.pth"):
        assert isinstance(read_checkpoint(tmp_path / name)["a"], torch.Tensor)


def runs(marker):
    """Values that create a file when they are unpickled."""
    opens = functools.partial(open, str(marker), "w")
    return {
        "os.system": Calls(os.system, f"touch {marker}"),
        "eval": Calls(eval, f"open({str(marker)!r}, 'w')"),
        "exec": Calls(exec, f"open({str(marker)!r}, 'w')"),
        "open": Calls(open, str(marker), "w"),
        "partial": Calls(opens),
        "an array of objects": np.array([Calls(open, str(marker), "w")], dtype=object),
    }


# Values that want more than numbers, without doing any harm.
WANTS = {
    "getattr": Calls(getattr, "text", "upper"),
    "import": Calls(__import__, "os"),
    "attrgetter": operator.attrgetter("system"),
    "copyreg": Calls(copyreg._reconstructor, dict, object, None),
    "an array of text": np.array(["a"]),
    "structured array": np.zeros(1, dtype=[("a", "f4")]),
    "a class": Calls,
    "an object": Path("a"),
    "torch.load": Calls(torch.load, "a"),
    "array from a file": Calls(np.fromfile, "a"),
    "numpy's load": Calls(np.load, "a"),
    "a set": {1},
}


@pytest.mark.parametrize("name", runs("a"))
def test_the_hostile_pickles_are_hostile(tmp_path, name):
    with contextlib.suppress(TypeError):  # having run
        pickle.loads(pickle.dumps(runs(tmp_path / "ran")[name]))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", runs("a"))
def test_nothing_runs(tmp_path, name, protocol):
    content = {"model": {"a": runs(tmp_path / "ran")[name]}}
    path = write(tmp_path / "a.pkl", content, protocol)
    with pytest.raises(CheckpointError, match=r"wants to call .*Nothing was run.*unsafe=True"):
        read_checkpoint(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", WANTS)
def test_more_than_numbers_is_refused(tmp_path, name, protocol):
    path = write(tmp_path / "a.pkl", {"model": {"a": WANTS[name]}}, protocol)
    with pytest.raises(CheckpointError, match=r"Nothing was run.*unsafe=True|need no instruction"):
        read_checkpoint(path)


def test_a_chain_of_attributes_reaches_nothing(tmp_path):
    command = f"touch {tmp_path / 'ran'}".encode()
    chain = program(
        b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n",
        b"U\x02os\x85RU\x06systemtRU" + bytes([len(command)]) + command + b"\x85R",
    )
    (tmp_path / "a.pkl").write_bytes(chain)
    with pytest.raises(CheckpointError, match=r"wants to call builtins\.getattr"):
        read_checkpoint(tmp_path / "a.pkl")
    assert not (tmp_path / "ran").exists()
    pickle.loads(chain)
    assert (tmp_path / "ran").exists()


def test_hostile_code_in_a_tensors_storage_does_not_run(tmp_path):
    marker = tmp_path / "ran"
    torch.save(Calls(open, str(marker), "w"), tmp_path / "inner")
    inner = (tmp_path / "inner").read_bytes()
    path = write(tmp_path / "a.pkl", {"a": Calls(torch.storage._load_from_bytes, inner)})
    with pytest.raises(CheckpointError):
        read_checkpoint(path)
    assert not marker.exists()


def test_unsafe_runs_what_a_pickle_wants(tmp_path):
    marker = tmp_path / "ran"
    content = {"model": {"a": NUMBERS}, "x": Calls(open, str(marker), "w")}
    read = read_checkpoint(write(tmp_path / "a.pkl", content), unsafe=True)
    assert marker.exists()
    assert torch.equal(read["model"]["a"], torch.from_numpy(NUMBERS))


def program(*instructions):
    """A pickle of protocol 4 from instructions, for what no pickler writes."""
    return b"\x80\x04" + b"".join(instructions) + b"."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (program(b"}", b"\x8e", (1 << 40).to_bytes(8, "little")), "more than there are"),
        (program(b"}", b"\x96", (1 << 40).to_bytes(8, "little")), "more than there are"),
        (program(b"}", b"B\xff\xff\xff\xff"), "more than there are"),
        (program(b"}", b")", b"\x85" * 100_000, b"K\x01s"), "key must be a name"),  # endless hash
        (program(b"cbuiltins\nbytes\n", b"J\xff\xff\xff\x7f\x85R"), "damaged"),
        (program(b"ccollections\nOrderedDict\n", b"}b"), "must have no state"),
        (program(b"}]b"), "must have no state"),
        (program(b"]K\x01K\x02s"), "only dictionaries have items"),
        (program(b"})R"), "only names are called"),
        (program(b"\x82\x01"), "need no instruction"),  # from Python's registry of extensions
        (program(b"}Q"), "need no instruction"),  # a persistent name
        (program(b"(cos\nsystem\nU\x04trueo"), r"wants to call os\.system"),
        (program(b"(U\x04trueios\nsystem\n"), "need no instruction"),
        (program(b"\x97"), "need no instruction"),  # a buffer from outside
        (b"\x80\xff.", "damaged"),
        (b"\x80\x04", "damaged"),
    ],
    ids=range(16),
)
def test_instructions_no_pickler_writes_are_one_error(tmp_path, content, said):
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(tmp_path / "a.pkl")


def test_a_memo_of_four_thousand_million_places_takes_one(tmp_path):
    (tmp_path / "a.pkl").write_bytes(program(b"}r\xff\xff\xff\xff"))
    assert read_checkpoint(tmp_path / "a.pkl") == {}


def test_a_view_beyond_its_storage_is_refused(tmp_path):
    storage = torch.ones(2)._typed_storage()
    view = Calls(torch._utils._rebuild_tensor, storage, 0, (100,), (1,))
    with pytest.raises(CheckpointError, match="out of bounds"):
        read_checkpoint(write(tmp_path / "a.pkl", {"a": view}))


WHOLE = [
    pickle.dumps(
        {"model": {"a": NUMBERS, "b": torch.ones(2)}, "c": np.float32(1), "__author__": "x"}, number
    )
    for number in (2, 3, 4, 5)
]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(WHOLE), st.floats(0, 0.999))
def test_a_truncated_file_is_one_error(tmp_path_factory, whole, share):
    path = tmp_path_factory.getbasetemp() / "truncated.pkl"
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError):
        read_checkpoint(path)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_a_damaged_file_is_read_or_one_error(tmp_path_factory, whole, changes):
    damaged = bytearray(whole)
    for place, byte in changes:
        damaged[int(place * len(damaged))] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.pkl"
    path.write_bytes(damaged)
    try:
        assert isinstance(read_checkpoint(path), dict)
    except CheckpointError as error:
        assert str(path) in str(error)
