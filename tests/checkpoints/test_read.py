import io
import os
import pickle

import pytest
import torch

from swin_mm.checkpoints import CheckpointError, read_checkpoint, save_checkpoint

STATE = {"state_dict": {"a": torch.arange(3.0)}, "meta": {"epoch": 3, "classes": ("a", "b")}}


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture
def hostile(tmp_path):
    """A weight file that leaves a mark if its code runs, and the mark's path."""
    marker = tmp_path / "ran"
    torch.save({"state_dict": {"a": torch.ones(1)}, "x": Hostile(marker)}, tmp_path / "evil.pth")
    return tmp_path / "evil.pth", marker


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_a_file_is_read_as_it_was_saved(tmp_path, zipped):
    torch.save(STATE, tmp_path / "a.pth", _use_new_zipfile_serialization=zipped)
    read = read_checkpoint(str(tmp_path / "a.pth"))
    assert torch.equal(read["state_dict"]["a"], torch.arange(3.0))
    assert read["meta"] == STATE["meta"]


def test_the_device_is_the_callers(tmp_path):
    torch.save(STATE, tmp_path / "a.pth")
    read = read_checkpoint(tmp_path / "a.pth", map_location="meta")
    assert read["state_dict"]["a"].is_meta


def test_safetensors_is_known_by_its_content(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file(STATE["state_dict"], tmp_path / "any.pth")
    assert torch.equal(read_checkpoint(tmp_path / "any.pth")["a"], torch.arange(3.0))


def test_without_the_package_safetensors_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (tmp_path / "a.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + b"\0\0\0\0"
    )
    with pytest.raises(CheckpointError, match=r'pip install "swin_mm\[safetensors\]"'):
        read_checkpoint(tmp_path / "a.safetensors")


def test_hostile_code_is_refused_and_does_not_run(hostile):
    path, marker = hostile
    with pytest.raises(CheckpointError, match=r"wants to call \S*open\. Nothing was run.*unsafe="):
        read_checkpoint(path)
    assert not marker.exists()


def test_the_hostile_file_is_hostile(hostile):
    path, marker = hostile
    read_checkpoint(path, unsafe=True)
    assert marker.exists()


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_plain_hostile_pickle_does_not_run(tmp_path, protocol):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"a": Hostile(tmp_path / "ran")}, protocol))
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "a.pkl")
    assert not (tmp_path / "ran").exists()


def test_a_missing_file_names_the_nearest(tmp_path):
    torch.save(STATE, tmp_path / "swin_tiny.pth")
    with pytest.raises(
        CheckpointError, match=r"no such checkpoint: .*Did you mean .*swin_tiny\.pth"
    ):
        read_checkpoint(tmp_path / "swin_tny.pth")


def test_a_missing_folder_is_a_missing_file(tmp_path):
    with pytest.raises(CheckpointError, match="Give an existing file or a URL"):
        read_checkpoint(tmp_path / "none" / "a.pth")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(CheckpointError, match="is a folder"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"\n<!DOCTYPE html><html>Not found</html>", "web page"),
        (b"\0" * 200, "damaged"),
        (b"PK\x03\x04 and so on", "damaged"),
    ],
)
def test_what_is_no_checkpoint_is_one_error(tmp_path, content, said):
    (tmp_path / "a.pth").write_bytes(content)
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(tmp_path / "a.pth")


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_one_error_with_its_size(tmp_path, zipped, share):
    buffer = io.BytesIO()
    torch.save({"a": torch.randn(2000)}, buffer, _use_new_zipfile_serialization=zipped)
    cut = buffer.getvalue()[: int(share * len(buffer.getvalue()))]
    (tmp_path / "a.pth").write_bytes(cut)
    with pytest.raises(CheckpointError, match=rf"\({len(cut)} bytes\) is damaged, incomplete"):
        read_checkpoint(tmp_path / "a.pth")


def test_what_is_no_dictionary_is_refused(tmp_path):
    torch.save(torch.ones(3), tmp_path / "a.pth")
    with pytest.raises(CheckpointError, match=r"must hold a dictionary, .* holds a Tensor"):
        read_checkpoint(tmp_path / "a.pth")


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("protocol", [4, 5])
def test_hostile_code_has_its_name_in_any_protocol(tmp_path, zipped, protocol):
    how = {"pickle_protocol": protocol, "_use_new_zipfile_serialization": zipped}
    torch.save({"a": torch.ones(2), "x": Hostile(tmp_path / "ran")}, tmp_path / "a.pth", **how)
    with pytest.raises(CheckpointError, match=r"wants to call \S*open\. Nothing was run.*unsafe="):
        read_checkpoint(tmp_path / "a.pth")
    assert not (tmp_path / "ran").exists()


def test_hostile_code_has_its_name_in_protocol_0(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"a": Hostile(tmp_path / "ran")}, 0))
    with pytest.raises(CheckpointError, match=r"wants to call \S*open\. Nothing was run"):
        read_checkpoint(tmp_path / "a.pkl")


def test_a_protocol_that_torch_does_not_read_is_no_damage(tmp_path):
    torch.save(STATE, tmp_path / "a.pth", pickle_protocol=4)
    with pytest.raises(CheckpointError, match=r"protocol 2 is read, .* has 4\. Save it again"):
        read_checkpoint(tmp_path / "a.pth")


@pytest.mark.parametrize("name", ["a.pth", "a.safetensors", "a.pkl"])
@pytest.mark.parametrize("device", ["hpu:7", "no such device", torch.device("hpu")])
def test_a_device_that_is_not_here_is_no_damage(tmp_path, name, device):
    save_checkpoint(STATE["state_dict"], tmp_path / name)
    with pytest.raises(CheckpointError, match=r"must be a device of this machine.*Use 'cpu'"):
        read_checkpoint(tmp_path / name, map_location=device)


def test_tensors_of_a_device_that_is_not_here_are_no_damage(tmp_path):
    file = io.BytesIO()
    torch.save(STATE, file, _use_new_zipfile_serialization=False)
    (tmp_path / "a.pth").write_bytes(file.getvalue().replace(b"cpu", b"hpu"))
    with pytest.raises(CheckpointError, match=r'that is not here.*map_location="cpu"'):
        read_checkpoint(tmp_path / "a.pth", map_location=None)
    assert torch.equal(read_checkpoint(tmp_path / "a.pth")["state_dict"]["a"], torch.arange(3.0))


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.pth")
    with pytest.raises(CheckpointError, match="is a device or a pipe"):
        read_checkpoint(tmp_path / "pipe.pth")


@pytest.mark.parametrize("target", ["gone.pth", "link.pth"])
def test_a_link_that_leads_to_no_file_says_where_it_leads(tmp_path, target):
    (tmp_path / "link.pth").symlink_to(target)
    with pytest.raises(CheckpointError, match=f"is a link to {target}, which leads to no file"):
        read_checkpoint(tmp_path / "link.pth")


@pytest.mark.parametrize("path", ["n" * 300, "~nobody-of-this-name/a.pth", "a/" * 3000])
def test_a_path_that_cannot_be_is_one_error(path):
    with pytest.raises(CheckpointError, match=r"cannot be read: .*Check the path"):
        read_checkpoint(path)
