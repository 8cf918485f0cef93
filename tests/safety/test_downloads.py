"""A server that breaks off, falls silent or leads elsewhere puts nothing wrong into the cache."""

import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from swin_mm.checkpoints import CheckpointError
from swin_mm.checkpoints.download import download

CONTENT = b"weights of nobody"


class Unreliable(http.server.BaseHTTPRequestHandler):
    """Serves the same bytes at every address, in the way that it says."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if "/elsewhere/" in self.path:
            self.send_response(302)
            self.send_header("Location", "/..%2F..%2Fstolen.pth?name=../../stolen.pth")
            self.end_headers()
            return
        chunked = "/chunked/" in self.path
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            missing = 1 if "/short/" in self.path or "/silent/" in self.path else 0
            self.send_header("Content-Length", str(len(CONTENT) + missing))
        self.send_header("Content-Disposition", 'attachment; filename="../../stolen.pth"')
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"%x\r\n" % (2 * len(CONTENT)) + CONTENT if chunked else CONTENT)
        self.wfile.flush()
        if "/silent/" in self.path:
            time.sleep(1)
        self.close_connection = True


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The server's address; torch.hub keeps files two folders below the test's own."""
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "hub"))
    monkeypatch.setenv("no_proxy", "*")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unreliable)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("how", "says"), [("short", "18 bytes, 17 came"), ("chunked", "IncompleteRead")]
)
def test_a_download_that_breaks_off_is_an_error_and_leaves_nothing(
    how: str, says: str, served: str, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=says):
        download(f"{served}/{how}/swin.pth")
    assert files(tmp_path) == []


def test_a_server_that_falls_silent_is_given_up(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swin_mm.checkpoints.download._PATIENCE", 0.2)
    with pytest.raises(CheckpointError, match=r"cannot fetch .*timed out"):
        download(f"{served}/silent/swin.pth")
    assert files(tmp_path) == []


@pytest.mark.parametrize("how", ["elsewhere", "whole"])
def test_the_address_that_was_asked_for_names_the_file_and_nothing_the_server_says(
    how: str, served: str, tmp_path: Path
) -> None:
    path = download(f"{served}/{how}/swin.pth")
    assert path.read_bytes() == CONTENT
    assert files(tmp_path) == [str(path.relative_to(tmp_path))]
    assert path.parents[1] == tmp_path / "hub/checkpoints"
    assert path.name == "swin.pth"


def test_a_download_that_broke_off_is_fetched_anew(served: str) -> None:
    with pytest.raises(CheckpointError):
        download(f"{served}/short/swin.pth")
    assert download(f"{served}/whole/swin.pth").read_bytes() == CONTENT
