import argparse
import sys
import threading

import numpy as np
import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.logging import HistoryBuffer
from mmengine.optim.scheduler.param_scheduler import OneCycleParamScheduler

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints.pickles import admitted


@pytest.fixture
def reread(tmp_path):
    """Return a function that saves something and reads it safely."""

    def save_and_read(value):
        torch.save({"value": value}, tmp_path / "a.pth")
        return read_checkpoint(tmp_path / "a.pth")["value"]

    return save_and_read


class Fetches:
    """Unpickles as an attribute of something, by getattr."""

    def __init__(self, owner, name):
        self.arguments = (owner, name)

    def __reduce__(self):
        return getattr, self.arguments


def test_logged_values_are_read(reread):
    buffer = reread(HistoryBuffer([1.0, 2.0, 6.0], [1, 1, 1]))
    assert buffer.mean() == 3 and buffer.statistics("max") == 6


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_])
def test_numpy_numbers_and_arrays_are_read(reread, kind):
    assert reread(kind(1)) == kind(1)
    array = reread(np.array([[0, 1], [1, 1]], dtype=kind))
    assert array.dtype == kind and array.tolist() == [[0, 1], [1, 1]]


def test_names_in_numpy_are_read(reread):
    assert reread(np.array(["cat", "dog"])).tolist() == ["cat", "dog"]


def test_numpy_1_wrote_other_names(tmp_path):
    torch.save({"value": np.float64(7)}, tmp_path / "a.pth", _use_new_zipfile_serialization=False)
    old = (tmp_path / "a.pth").read_bytes().replace(b"numpy._core.", b"numpy.core.")
    assert b"numpy.core.multiarray" in old
    (tmp_path / "a.pth").write_bytes(old)
    assert read_checkpoint(tmp_path / "a.pth")["value"] == 7


def test_configurations_are_read(reread):
    assert reread(ConfigDict(a=1, b=dict(c=2))).b.c == 2
    assert reread(argparse.Namespace(lr=0.1)).lr == 0.1


def test_the_one_cycle_annealing_is_read(reread):
    assert reread(OneCycleParamScheduler._annealing_cos) is OneCycleParamScheduler._annealing_cos


@pytest.mark.parametrize(
    "attack",
    [
        Fetches(HistoryBuffer, "__init__"),
        Fetches(HistoryBuffer, "__dict__"),
        Fetches(OneCycleParamScheduler, "__init__"),
        Fetches(np.ndarray, "tofile"),
        Fetches(torch.Tensor, "__reduce__"),
        Fetches({}, "min"),
        Fetches(HistoryBuffer, ("min",)),
    ],
)
def test_getattr_reaches_nothing_else(reread, attack):
    with pytest.raises(CheckpointError, match="wants to call getattr"):
        reread(attack)


def test_a_class_admitted_for_its_function_is_not_made(reread, monkeypatch):
    class Makes:
        def __reduce__(self):
            return OneCycleParamScheduler, (None, "lr")

    made = []
    monkeypatch.setattr(OneCycleParamScheduler, "__init__", lambda *arguments: made.append(1))
    with pytest.raises(CheckpointError, match=r"wants to call mmengine\..*OneCycle"):
        reread(Makes())
    assert made == []


def test_arrays_of_objects_are_refused(reread):
    with pytest.raises(CheckpointError):
        reread(np.array([{"a": 1}], dtype=object))


def test_without_mmengine_its_files_are_read_all_the_same(tmp_path, monkeypatch):
    value = [HistoryBuffer([1.0], [1]), ConfigDict(a=1), OneCycleParamScheduler._annealing_cos]
    torch.save({"value": value, "weight": torch.ones(2)}, tmp_path / "a.pth")
    for name in list(sys.modules):
        if name.split(".")[0] == "mmengine":
            monkeypatch.setitem(sys.modules, name, None)
    read = read_checkpoint(tmp_path / "a.pth")
    assert torch.equal(read["weight"], torch.ones(2))
    assert read["value"][1] == {"a": 1}


def test_what_the_user_admitted_stays_admitted():
    entry = (argparse.Namespace, "argparse.Namespace")
    with torch.serialization.safe_globals([entry]):
        with admitted():
            pass
        assert entry in torch.serialization.get_safe_globals()
    with admitted():
        pass
    assert entry not in torch.serialization.get_safe_globals()


def test_one_reader_does_not_end_anothers_admission():
    entered, leave, admits = threading.Event(), threading.Event(), []

    def read_slowly():
        with admitted():
            entered.set()
            leave.wait()
            admits.extend(torch.serialization.get_safe_globals())

    thread = threading.Thread(target=read_slowly)
    with admitted():
        thread.start()
        entered.wait(0.1)  # it must not come in before we leave
    leave.set()
    thread.join()
    assert HistoryBuffer in [entry[0] for entry in admits if isinstance(entry, tuple)]


def test_threads_may_read_at_once(tmp_path):
    torch.save({"value": HistoryBuffer([1.0] * 100, [1] * 100)}, tmp_path / "a.pth")
    failures = []

    def read_often():
        try:
            for _ in range(20):
                read_checkpoint(tmp_path / "a.pth")
        except CheckpointError as error:
            failures.append(error)

    threads = [threading.Thread(target=read_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
