"""No command runs what a weight file wants to run, on any path, unless its user says so."""

import pickle
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

CONFIG = "configs/mask_rcnn_swin_t.py"


class Hostile:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture
def hostile(request, tmp_path) -> str:
    """A weight file that leaves a mark beside it, `ran`, if its code runs; `.pth` if not asked."""
    ending = getattr(request, "param", ".pth")
    state = {"state_dict": {"a": torch.ones(1)}, "meta": {}, "x": Hostile(tmp_path / "ran")}
    path = (tmp_path / "evil").with_suffix(ending)
    if ending == ".pkl":
        path.write_bytes(pickle.dumps(state))
    else:
        torch.save(state, path)
    return str(path)


@pytest.fixture
def served(hostile, tmp_path, monkeypatch):
    """The file's URL on this machine, and an empty cache of downloads."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=str(tmp_path))

        def log_message(self, *_):
            pass

    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "cache"))
    server = HTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{Path(hostile).name}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def commands(small, tmp_path):
    """Each way into a command, as words that follow the tool's name."""
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((48, 64, 3), np.uint8))
    work = ["--work-dir", str(tmp_path / "work")]

    def words(way: str, source: str) -> list[str]:
        options = small["detection"]
        train = ["train.py", CONFIG, "--max-iters", "1", *work]
        return {
            "weights": [*train, "--weights", source, *options],
            "load_from": [*train, *options, "model.backbone.init_cfg=None", f"load_from={source}"],
            "resume": [*train, "--resume", source, *options],
            "test": ["test.py", CONFIG, source, *work, *options],
            "infer": ["infer.py", CONFIG, source, str(tmp_path / "a.png"),
                      "--out", str(tmp_path / "out")],
        }[way]  # fmt: skip

    return words


@pytest.mark.parametrize("hostile", [".pth", ".pkl"], indirect=True)
@pytest.mark.parametrize("way", ["weights", "load_from", "resume", "test", "infer"])
def test_a_file_is_refused_and_the_flag_is_named(call, commands, hostile, tmp_path, way):
    ended = call(*commands(way, hostile))
    assert ended.code == 2
    assert "Nothing was run" in ended.err
    assert "--unsafe" in ended.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("way", ["weights", "load_from", "test", "infer"])
def test_a_url_is_refused_too(call, commands, served, tmp_path, way):
    ended = call(*commands(way, served))
    assert ended.code == 2
    assert "Nothing was run" in ended.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("way", ["weights", "load_from", "resume", "test", "infer"])
def test_a_user_who_says_so_lets_it_run(call, commands, hostile, tmp_path, way):
    tool, *words = commands(way, hostile)
    ended = call(tool, "--unsafe", *words)
    assert ended.code == 2  # it is no detector's file
    assert "Nothing was run" not in ended.err
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("tool", ["train.py", "test.py", "infer.py"])
def test_the_flag_is_told_with_its_risk(call, tool):
    told = call(tool, "--help").out
    assert "--unsafe" in told
    assert "only for files you trust" in " ".join(told.split())
