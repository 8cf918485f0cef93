"""Files that are whole or not there."""

import errno
import os
from pathlib import Path

import pytest
from mmengine.fileio import get_file_backend

from swin_mm.engine import whole_files
from swin_mm.engine.whole_files import PART, WHOLE_FILES, write_whole


def test_what_is_written_is_there_and_nothing_beside_it(tmp_path: Path) -> None:
    write_whole(tmp_path / "one", b"old")
    write_whole(tmp_path / "one", b"new")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("one", b"new")]


def test_the_bytes_and_the_name_go_to_the_disk_in_that_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def note(name: str) -> None:
        real = getattr(os, name)

        def noted(first: int | str, *more: str) -> None:
            path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else first
            done.append((name, os.path.basename(path)))
            assert os.path.isdir(path) or os.path.getsize(path) == len(b"some")
            real(first, *more)

        monkeypatch.setattr(whole_files.os, name, noted)

    for name in ("fsync", "posix_fadvise", "replace"):
        note(name)
    write_whole(tmp_path / "one", b"some")
    names = ["fsync", "posix_fadvise", "replace"]  # to the disk, out of memory, read, renamed
    assert done == [*((name, f"one{PART}") for name in names), ("fsync", tmp_path.name)]


def test_a_file_larger_than_what_is_read_at_once_is_compared_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "_CHUNK", 3)
    write_whole(tmp_path / "one", b"0123456789")
    assert (tmp_path / "one").read_bytes() == b"0123456789"


@pytest.mark.parametrize("content", [b"0123x56789", b"01234", b"0123456789+"])
def test_a_disk_that_keeps_other_bytes_is_found_out_and_the_old_file_stays(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "one", b"old")
    monkeypatch.setattr(whole_files, "_CHUNK", 5)  # the file's end is also that of a chunk
    real = os.fsync

    def lie(descriptor: int) -> None:
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))
        real(descriptor)

    monkeypatch.setattr(whole_files.os, "fsync", lie)
    with pytest.raises(OSError, match=r"written") as caught:
        write_whole(tmp_path / "one", b"0123456789")
    assert caught.value.errno == errno.EIO
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("one", b"old")]


def test_a_file_without_a_folder_goes_to_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("one", b"some")
    assert Path("one").read_bytes() == b"some"


def test_what_went_wrong_is_told_and_not_what_went_wrong_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(_: int) -> None:
        os.unlink(tmp_path / f"one{PART}")
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(whole_files.os, "fsync", vanish)
    with pytest.raises(OSError, match="full"):
        write_whole(tmp_path / "one", b"some")


def test_a_folder_that_has_vanished_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "gone/one", b"some")
    assert list(tmp_path.iterdir()) == []


def test_mmengine_finds_the_writer_by_its_name(tmp_path: Path) -> None:
    backend = get_file_backend(str(tmp_path), backend_args={"backend": WHOLE_FILES})
    backend.put(b"some", str(tmp_path / "one"))
    assert (tmp_path / "one").read_bytes() == b"some"
