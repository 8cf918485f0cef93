"""The page on disk."""

import os
from pathlib import Path

import pytest

from swin_mm.engine.errors import UsageError
from swin_mm.reporting.write import require_room, write_page


def test_a_page_replaces_another_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    require_room(str(path), force=False)
    write_page("<p>é</p>", str(path))
    with pytest.raises(UsageError, match="--force replaces it"):
        require_room(str(path), force=False)
    require_room(str(path), force=True)
    write_page("new", str(path))
    assert path.read_text(encoding="utf-8") == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_a_page_needs_a_name_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        require_room(str(tmp_path), force=True)
    with pytest.raises(UsageError, match="there is no folder"):
        require_room(str(tmp_path / "nowhere" / "page.html"), force=True)


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"page\.html is a device"):
        require_room(str(pipe), force=True)


def test_a_folder_that_takes_nothing_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(UsageError, match="nothing can be written into"):
        require_room(str(tmp_path / "page.html"), force=False)


def test_names_that_are_no_text_are_written_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page("caf\udce9", str(path))
    assert path.read_text(encoding="utf-8") == r"caf\udce9"
