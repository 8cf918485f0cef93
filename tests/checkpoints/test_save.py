import os
import pickle
import stat

import numpy as np
import pytest
import torch

from swin_mm.checkpoints import CheckpointError, read_checkpoint, save_checkpoint

STATE = {"a": torch.arange(6.0).view(2, 3).mT, "b": torch.ones(2, dtype=torch.float16)}


@pytest.mark.parametrize("ending", ["pth", "pt", "safetensors"])
def test_what_is_written_is_read_again(tmp_path, same_tensors, ending):
    if ending == "safetensors":
        pytest.importorskip("safetensors")
    path = tmp_path / f"file.{ending}"
    save_checkpoint(STATE, path)
    assert same_tensors(read_checkpoint(path), STATE) == []
    assert os.listdir(tmp_path) == [path.name]


def test_the_ending_chooses_the_format(tmp_path):
    pytest.importorskip("safetensors")
    save_checkpoint(STATE, tmp_path / "file.safetensors")
    assert (tmp_path / "file.safetensors").read_bytes()[8:9] == b"{"


def test_safetensors_takes_tensors_that_share_memory(tmp_path):
    pytest.importorskip("safetensors")
    save_checkpoint({"a": STATE["a"], "b": STATE["a"]}, tmp_path / "file.safetensors")


def test_safetensors_takes_nothing_but_tensors(tmp_path):
    pytest.importorskip("safetensors")
    with pytest.raises(CheckpointError, match=r"holds tensors alone.*state_dict, epoch"):
        save_checkpoint({"state_dict": STATE, "epoch": 3}, tmp_path / "file.safetensors")
    assert os.listdir(tmp_path) == []


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file.pth"
    save_checkpoint(STATE, path)

    def write_half(state, target):
        target.write_bytes(b"half of it")
        raise OSError("No space left on device")

    monkeypatch.setattr(torch, "save", write_half)
    with pytest.raises(CheckpointError, match=r"cannot write .*No space left"):
        save_checkpoint({}, path)
    assert torch.equal(read_checkpoint(path)["b"], STATE["b"])
    assert os.listdir(tmp_path) == ["file.pth"]


def test_who_has_the_old_file_open_keeps_it(tmp_path):
    path = tmp_path / "file.pth"
    save_checkpoint(STATE, path)
    before = path.read_bytes()
    with path.open("rb") as reader:
        save_checkpoint({"other": torch.ones(500)}, path)
        assert reader.read() == before


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(state, target):
        target.write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(STATE, tmp_path / "file.pth")
    assert os.listdir(tmp_path) == []


def test_a_pkl_is_what_detectron2_reads(tmp_path):
    state = {"a": torch.arange(6.0).view(2, 3).mT, "b": torch.ones(2, requires_grad=True)}
    save_checkpoint(state, tmp_path / "a.pkl")
    with (tmp_path / "a.pkl").open("rb") as file:
        read = pickle.load(file, encoding="latin1")
    assert read["matching_heuristics"] is True and read["__author__"] == "swin_mm"
    assert np.array_equal(read["model"]["a"], state["a"].numpy())
    assert read["model"]["b"].dtype == np.float32


def test_numpy_1_knows_every_name_in_a_pkl(tmp_path):
    save_checkpoint({"a": torch.ones(2), "b": torch.ones(2)}, tmp_path / "a.pkl")
    assert b"numpy._core" not in (tmp_path / "a.pkl").read_bytes()


def test_a_pkl_is_read_again(tmp_path, same_tensors):
    state = {"a": torch.randn(3, 4), "b": torch.arange(3), "c": torch.ones(()).half()}
    save_checkpoint(state, tmp_path / "a.pkl")
    assert same_tensors(read_checkpoint(tmp_path / "a.pkl")["model"], state) == []
    assert os.listdir(tmp_path) == ["a.pkl"]


def test_a_pkl_of_numbers_that_numpy_lacks_is_one_error(tmp_path):
    with pytest.raises(CheckpointError, match=r"NumPy's arrays: .*BFloat16.*float32 first"):
        save_checkpoint({"a": torch.ones(2).bfloat16()}, tmp_path / "a.pkl")
    assert os.listdir(tmp_path) == []


def test_a_pkl_takes_nothing_but_tensors(tmp_path):
    with pytest.raises(CheckpointError, match=r"a \.pkl file holds tensors alone.*epoch"):
        save_checkpoint({"epoch": 3}, tmp_path / "a.pkl")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.pth", "a.safetensors", "a.pkl"])
def test_a_file_has_the_permissions_that_the_user_asks_for(tmp_path, name):
    before = os.umask(0o027)
    try:
        save_checkpoint({"a": torch.ones(2)}, tmp_path / name)
    finally:
        os.umask(before)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["a.pth", "a.safetensors", "a.pkl"])
def test_a_folder_that_is_not_there_is_one_error(tmp_path, name):
    with pytest.raises(CheckpointError, match="must exist, be writable"):
        save_checkpoint({"a": torch.ones(2)}, tmp_path / "none" / name)


def test_tensors_that_share_memory_or_have_strides_are_saved_apart(tmp_path):
    whole = torch.arange(12.0).view(3, 4)
    state = {"whole": whole, "same": whole, "row": whole[1], "turned": whole.T}
    save_checkpoint(state, tmp_path / "a.safetensors")
    read = read_checkpoint(tmp_path / "a.safetensors")
    assert all(torch.equal(read[name], tensor) for name, tensor in state.items())


@pytest.mark.parametrize("name", ["pipe", "to the pipe", "folder", ""])
def test_what_is_there_and_no_file_stays(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.symlink("pipe", "to the pipe")
    os.mkdir("folder")
    before = sorted(os.listdir())
    with pytest.raises(CheckpointError, match=r"is written to a file.* is a (folder|device)"):
        save_checkpoint(STATE, name)
    assert sorted(os.listdir()) == before and stat.S_ISFIFO(os.lstat("pipe").st_mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_to_the_file_that_it_names(tmp_path, there):
    (tmp_path / "far").mkdir()
    if there:
        (tmp_path / "far" / "real.pth").touch()
    (tmp_path / "link.pth").symlink_to("far/real.pth")
    save_checkpoint(STATE, tmp_path / "link.pth")
    assert (tmp_path / "link.pth").is_symlink()
    assert "a" in read_checkpoint(tmp_path / "far" / "real.pth")
    assert os.listdir(tmp_path / "far") == ["real.pth"]


@pytest.mark.parametrize("path", ["n" * 300, "~nobody-of-this-name/a.pth", "loop", "a\0b"])
def test_a_path_that_cannot_be_is_one_error(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    os.symlink("loop", "loop")
    with pytest.raises(CheckpointError, match="cannot write"):
        save_checkpoint(STATE, path)


@pytest.mark.parametrize("name", ["a.safetensors", "a.pkl"])
@pytest.mark.parametrize(
    ("kind", "tensor"),
    [
        ("sparse", lambda: torch.eye(3).to_sparse()),
        ("sparse", lambda: torch.eye(3).to_sparse_csr()),
        ("nested", lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])),
        ("nested", lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged)),
        ("quantised", lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)),
        ("on the device meta", lambda: torch.ones(3, device="meta")),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_tensor_that_is_no_plain_array_is_one_error(tmp_path, name, kind, tensor):
    with pytest.raises(CheckpointError, match=f"plain arrays of numbers alone, odd is {kind}"):
        save_checkpoint({"odd": tensor()}, tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.safetensors", "a.pkl"])
def test_a_tensor_that_negates_another_is_written_as_it_reads(tmp_path, name):
    negated = torch.view_as_complex(torch.ones(3, 2)).conj().imag
    assert negated.is_neg()
    save_checkpoint({"a": negated}, tmp_path / name)
    read = read_checkpoint(tmp_path / name)
    assert torch.equal(read.get("model", read)["a"], torch.full((3,), -1.0))


@pytest.mark.parametrize("name", ["\ud800", "__metadata__", 3])
def test_a_name_that_safetensors_cannot_keep_is_one_error(tmp_path, name):
    with pytest.raises(CheckpointError, match="names its tensors in UTF-8, and keeps __metadata__"):
        save_checkpoint({name: torch.ones(2)}, tmp_path / "a.safetensors")
    assert os.listdir(tmp_path) == []
