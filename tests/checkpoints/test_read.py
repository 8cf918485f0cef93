import io
import pickle

import pytest
import torch

from swin_mm.checkpoints import CheckpointError, read_checkpoint

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
