import io
import pickle
import struct
import zipfile

import pytest
import torch

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints.pickle_survey import survey

LAUGH = b"X\x01\x00\x00\x00aq\x00" + b"".join(
    b"0h%ch%c\x86q%c" % (place, place, place + 1) for place in range(40)
)
DEEP = b"\x80\x02})" + b"\x85" * 5000 + b"Ns."
WIDE = b"\x80\x02}" + LAUGH + b"Ns."
MUCH = b"\x80\x02}c__builtin__\nbytearray\n%sRN\x86."


def zipped(content, *, compression=zipfile.ZIP_STORED, name="archive/data.pkl", times=1):
    """A file like torch's around a pickle that torch would not write."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(name, content)
        archive.writestr("archive/version", "3\n")
        for _ in range(times - 1):
            archive.filelist.append(archive.filelist[0])
    return file.getvalue()


def legacy(content):
    file = io.BytesIO()
    torch.save({}, file, _use_new_zipfile_serialization=False)
    return file.getvalue().replace(pickle.dumps({}, 2), content)


def saved(**how):
    file = io.BytesIO()
    state = {f"a.{number}": torch.ones(2, 3) for number in range(300)}
    torch.save({"model": state, "shared": [(state, state)] * 20}, file, **how)
    return file


@pytest.mark.parametrize("how", [{}, {"_use_new_zipfile_serialization": False}])
def test_what_torch_saves_passes(how):
    file = saved(**how)
    file.seek(0)
    found = survey(file)
    assert found.protocol == 2
    assert set(found.called) == {"torch._utils._rebuild_tensor_v2", "collections.OrderedDict"}
    assert file.tell() == 0


@pytest.mark.parametrize("wrap", [zipped, legacy])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (DEEP, "nest more than 200 deep"),
        (WIDE, "share more than"),
        (MUCH % b"\x8a\x05\0\0\0\0\x01\x85", r"wants to call .*bytearray"),
        (MUCH % b"]\x8a\x05\0\0\0\0\x01a", r"wants to call .*bytearray"),
        (MUCH % b"]q\x00\x8a\x05\0\0\0\0\x01a0h\x00", r"wants to call .*bytearray"),
        (b"\x80\x02})" + b"\x85" * 150 + b")R.", "only names are called"),
        (b"\x80\x02}\x86.", "nothing to work on"),
        (b"\x80\x02}", "damaged"),
    ],
    ids=range(8),
)
def test_a_pickle_that_would_end_or_fill_the_process_is_refused(tmp_path, wrap, content, said):
    (tmp_path / "a.pth").write_bytes(wrap(content))
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(tmp_path / "a.pth")


def test_torchs_reader_finds_a_pickle_in_capitals_and_so_does_the_survey():
    with pytest.raises(pickle.UnpicklingError, match="deep"):
        survey(io.BytesIO(zipped(DEEP, name="archive/DATA.PKL")))


def test_bytes_of_a_text_are_no_danger(tmp_path):
    torch.save({"a": bytearray(b"\x01\xff"), "b": bytearray(), "c": b"xyz"}, tmp_path / "a.pth")
    assert read_checkpoint(tmp_path / "a.pth") == {"a": b"\x01\xff", "b": b"", "c": b"xyz"}


def test_a_compressed_archive_is_refused(tmp_path):
    with zipfile.ZipFile(saved()) as whole:
        content = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(tmp_path / "a.pth", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    with pytest.raises(CheckpointError, match="must not be compressed"):
        read_checkpoint(tmp_path / "a.pth")


def test_an_archive_whose_parts_lie_in_one_another_is_refused():
    overlapping = zipped(b"\x80\x02}." + b"\0" * 5000, times=9)
    with pytest.raises(pickle.UnpicklingError, match="more than the file"):
        survey(io.BytesIO(overlapping))


def test_a_tensors_own_storage_in_a_plain_pickle_is_looked_through(tmp_path):
    inner = zipped(DEEP)
    call = b"ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(inner)) + inner + b"\x85R"
    (tmp_path / "a.pkl").write_bytes(b"\x80\x03}X\x01\x00\x00\x00a" + call + b"s.")
    with pytest.raises(CheckpointError, match="nest more than 200 deep"):
        read_checkpoint(tmp_path / "a.pkl")
