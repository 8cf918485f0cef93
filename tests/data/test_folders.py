import json
from pathlib import Path

import pytest

from swin_mm.data.folders import MARKER, check_replaceable, fill_folder


def expected(facts: dict) -> set[str]:
    return {MARKER, *facts["files"]}


def made(folder: Path) -> Path:
    """A folder as if written before, with one file."""
    folder.mkdir()
    (folder / "old.txt").write_text("old")
    (folder / MARKER).write_text(json.dumps({"files": ["old.txt"]}))
    return folder


def test_a_filled_folder_replaces_the_old_one_whole(tmp_path):
    folder = made(tmp_path / "out")
    with fill_folder(folder) as draft:
        (draft / "new.txt").write_text("new")
        assert (folder / "old.txt").exists()
    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [folder]


def test_a_failure_leaves_the_old_folder_and_no_draft(tmp_path):
    folder = made(tmp_path / "out")
    with pytest.raises(RuntimeError), fill_folder(folder) as draft:
        (draft / "new.txt").write_text("new")
        raise RuntimeError
    assert (folder / "old.txt").read_text() == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_link_goes_on_pointing_to_the_folder_it_named(tmp_path):
    folder, link = made(tmp_path / "out"), tmp_path / "link"
    link.symlink_to(folder)
    with fill_folder(link) as draft:
        (draft / "new.txt").write_text("new")
    assert link.is_symlink()
    assert (folder / "new.txt").exists()


def test_parents_are_made(tmp_path):
    with fill_folder(tmp_path / "a" / "b") as draft:
        (draft / "new.txt").write_text("new")
    assert (tmp_path / "a/b/new.txt").exists()


def test_an_absent_or_empty_folder_may_be_written_to(tmp_path):
    check_replaceable(tmp_path / "absent", expected, force=False)
    check_replaceable(tmp_path, expected, force=False)


def test_scenes_are_replaced_only_when_asked(tmp_path):
    folder = made(tmp_path / "out")
    with pytest.raises(FileExistsError, match="--force"):
        check_replaceable(folder, expected, force=False)
    check_replaceable(folder, expected, force=True)


def test_a_folder_without_our_marker_is_never_replaced(tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(FileExistsError, match="something else"):
        check_replaceable(tmp_path, expected, force=True)


def test_a_strangers_file_among_scenes_forbids_replacing_them(tmp_path):
    folder = made(tmp_path / "out")
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("")
    with pytest.raises(FileExistsError, match=r"1 other file.*notes/mine\.txt"):
        check_replaceable(folder, expected, force=True)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        check_replaceable(tmp_path / "out", expected, force=True)


@pytest.mark.parametrize("content", ["", "[]", '{"files": 3}'])
def test_a_broken_marker_is_no_marker(tmp_path, content):
    folder = made(tmp_path / "out")
    (folder / MARKER).write_text(content)
    with pytest.raises(FileExistsError, match="something else"):
        check_replaceable(folder, expected, force=True)
