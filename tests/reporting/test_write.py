"""The page on disk."""

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
