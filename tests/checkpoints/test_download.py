import hashlib
import http.server
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import torch

from swin_mm.checkpoints import CheckpointError, read_checkpoint
from swin_mm.checkpoints import download as download_room
from swin_mm.checkpoints.download import download


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without logging, and counts what it serves."""

    served = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        Quiet.served += 1
        super().do_GET()


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder that is served, its address, and torch.hub's folder of checkpoints."""
    folder, hub = tmp_path / "served", tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(torch.hub, "_hub_dir", str(hub))
    monkeypatch.setenv("no_proxy", "*")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}", hub / "checkpoints"
    server.shutdown()
    server.server_close()


def publish(folder, name):
    torch.save({"a": torch.ones(2)}, folder / "tmp")
    digest = hashlib.sha256((folder / "tmp").read_bytes()).hexdigest()
    (folder / "tmp").rename(folder / name.format(digest[:8]))
    return name.format(digest[:8])


def test_a_url_is_fetched_once(served):
    folder, address, cache = served
    name = publish(folder, "swin.pth")
    before = Quiet.served
    for _ in range(2):
        assert torch.equal(read_checkpoint(f"{address}/{name}?download=1")["a"], torch.ones(2))
    assert Quiet.served == before + 1
    assert [path.name for path in cache.rglob("*") if path.is_file()] == ["swin.pth"]


@pytest.mark.parametrize("name", ["swin.pth", "swin-{}.pth"])
def test_of_several_processes_that_want_a_file_at_once_one_fetches_it(served, monkeypatch, name):
    """Threads stand for them: a lock is of the file that each has opened."""
    folder, address, cache = served
    url = f"{address}/{publish(folder, name)}"
    fetch, together, fetched = download_room._fetch, threading.Barrier(4), []

    def slowly(url, path):
        fetched.append(url)
        time.sleep(0.1)
        fetch(url, path)

    def one(_):
        together.wait()
        return download(url)

    monkeypatch.setattr(download_room, "_fetch", slowly)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(one, range(4)))) == 1
    assert fetched == [url]
    assert len([path for path in cache.rglob("*") if path.is_file()]) == 1


def test_two_addresses_may_give_files_the_same_name(served):
    folder, address, cache = served
    for value, author in enumerate(("one", "other")):
        (folder / author).mkdir()
        torch.save({"a": torch.full((2,), value)}, folder / author / "model.pth")
    for _ in range(2):
        for value, author in enumerate(("one", "other")):
            assert read_checkpoint(f"{address}/{author}/model.pth")["a"][0] == value
    assert len(list(cache.rglob("model.pth"))) == 2


def test_what_torch_hub_has_fetched_is_not_fetched_again(served):
    folder, address, cache = served
    (folder / "a").mkdir()
    for name in (publish(folder, "swin.pth"), publish(folder, "a/swin-{}.pth")):
        torch.hub.load_state_dict_from_url(f"{address}/{name}", progress=False)
        before = Quiet.served
        read_checkpoint(f"{address}/{name}")
        assert Quiet.served == before
    assert sorted(os.listdir(cache)) == sorted(["swin.pth", Path(name).name])


def test_a_name_with_a_hash_lies_where_torch_hub_looks(served):
    folder, address, cache = served
    name = publish(folder, "swin-{}.pth")
    read_checkpoint(f"{address}/{name}")
    assert os.listdir(cache) == [name]


def test_the_hash_in_a_name_is_checked(served):
    folder, address, cache = served
    read_checkpoint(f"{address}/{publish(folder, 'swin-{}.pth')}")
    publish(folder, "swin-0123abcd.pth")
    with pytest.raises(CheckpointError, match="must start with 0123abcd, what came starts with"):
        read_checkpoint(f"{address}/swin-0123abcd.pth")
    assert len(os.listdir(cache)) == 1


def test_a_date_in_a_name_is_no_hash(served):
    folder, address, _ = served
    read_checkpoint(f"{address}/{publish(folder, 'swin-20220317.pth')}")


def test_mmsegmentation_names_files_by_another_files_hash(served):
    folder, address, _ = served
    (folder / "mmsegmentation").mkdir()
    name = publish(folder, "mmsegmentation/swin_20220317-0123abcd.pth")
    read_checkpoint(f"{address}/{name}")


def test_a_failed_download_is_one_error_and_leaves_nothing(served):
    _, address, cache = served
    with pytest.raises(CheckpointError, match=r"cannot fetch .*404.*put it at .*missing\.pth"):
        read_checkpoint(f"{address}/missing.pth")
    assert os.listdir(cache) == []


def test_a_server_that_is_not_there_is_one_error(served):
    with pytest.raises(CheckpointError, match="cannot fetch"):
        download("http://127.0.0.1:9/swin.pth")


def test_a_url_without_a_name_is_refused():
    with pytest.raises(CheckpointError, match="must end in a file's name"):
        download("https://example.com/")


def test_an_encoded_path_never_leaves_the_cache(tmp_path, monkeypatch):
    """`%2F` is a slash once it is decoded: the name is what follows the last one."""
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path / "hub"))
    (tmp_path / "secret.pth").write_bytes(b"local")
    fetched = []

    def fetch(url, path):
        fetched.append(path)
        path.write_bytes(b"fetched")

    monkeypatch.setattr("swin_mm.checkpoints.download._fetch", fetch)
    path = download("https://host.example/a%2F..%2F..%2F..%2Fsecret.pth")
    assert path.parents[1] == tmp_path / "hub/checkpoints" and path.name == "secret.pth"
    assert path.read_bytes() == b"fetched"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://[::1/a.pth", "no URL"),
        ("http://127.0.0.1:9/a%00.pth", "must end in a file's name"),
        ("http://127.0.0.1:9/a/..", "must end in a file's name"),
        (f"http://127.0.0.1:9/{'n' * 300}.pth", "may have 200 bytes"),
    ],
)
def test_a_url_that_names_no_file_here_is_one_error(url, said):
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(url)


def test_a_cache_that_cannot_be_is_one_error(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr("torch.hub.get_dir", lambda: str(tmp_path / "file"))
    with pytest.raises(CheckpointError, match="cannot fetch"):
        download("http://127.0.0.1:9/a.pth")
