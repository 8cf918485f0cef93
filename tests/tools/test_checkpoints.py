"""tools/inspect_checkpoint.py and tools/convert_checkpoint.py, as they are typed."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import swin_mm
from swin_mm.checkpoints import read_checkpoint

TOOLS = Path(__file__).parents[2] / "tools"


def run_alone(tool, *arguments, cwd):
    """Run a tool in a process of its own, as a user does."""
    command = [sys.executable, str(TOOLS / f"{tool}_checkpoint.py"), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(TOOLS.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.fixture
def run(call, tmp_path):
    """Run a tool in this process, in the test's folder."""
    return lambda tool, *words: call(f"{tool}_checkpoint.py", *map(str, words), cwd=tmp_path)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    sizes = {"embed_dims": 8, "depths": (1, 1), "num_heads": (1, 2), "strides": (4, 2)}
    model = swin_mm.SwinTransformer(**sizes, out_indices=(1,), window_size=3)
    path = tmp_path_factory.mktemp("files") / "swin.pth"
    torch.save(model.state_dict(), path)
    return path


def test_a_file_is_converted_there_and_back(file, tmp_path):
    there = run_alone("convert", file, "there.safetensors", "--to", "torchvision", cwd=tmp_path)
    assert there.code == 0, there.err
    assert "openmmlab (SwinV1) -> torchvision" in there.out
    assert "note: the file has no classifier's head" in there.out
    back = run_alone("convert", "there.safetensors", "back.pth", "--to", "openmmlab", cwd=tmp_path)
    assert back.code == 0, back.err
    tensors = read_checkpoint(tmp_path / "back.pth")["state_dict"]
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in torch.load(file).items())


def test_windows_channels_and_detectron2s_pickle_are_options(run, file, tmp_path):
    options = ["--window", "5", "--in-channels", "1", "--resize-bias", "geometric"]
    done = run("convert", file, "out.pkl", "--to", "detectron2", *options)
    assert done.code == 0, done.err
    told = run("inspect", "out.pkl", "--tensors")
    assert told.code == 0, told.err
    assert "windows     5x5, 5x5" in told.out
    assert "4x4 px of 1 channels" in told.out
    assert "patch_embed.proj.weight -> patch_embed.projection.weight (8, 1, 4, 4)" in told.out


def test_nothing_is_overwritten_unless_told_to(run, file, tmp_path):
    (tmp_path / "out.pth").write_text("mine")
    refused = run("convert", file, "out.pth", "--to", "timm")
    assert refused.code == 2
    assert "there already" in refused.err and "--force" in refused.err
    assert (tmp_path / "out.pth").read_text() == "mine"
    assert run("convert", file, "out.pth", "--to", "timm", "--force").code == 0


@pytest.mark.parametrize("tool", ["inspect", "convert"])
def test_a_hostile_file_is_refused_and_runs_nothing(run, tool, tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    for name, dump in (("bad.pth", torch.save), ("bad.pkl", _pickle)):
        dump({"model": Hostile()}, tmp_path / name)
        rest = ["out.pth", "--to", "timm"] if tool == "convert" else []
        refused = run(tool, name, *rest)
        assert refused.code == 2
        assert "--unsafe" in refused.err or "unsafe" in refused.err
        assert "Traceback" not in refused.err
        assert not (tmp_path / "ran").exists()
        assert not (tmp_path / "out.pth").exists()


def test_inspecting_a_file_that_is_none_ends_with_one_error(tmp_path):
    (tmp_path / "none.pth").write_text("none")
    told = run_alone("inspect", "none.pth", cwd=tmp_path)
    assert told.code == 2
    assert told.err.startswith("error: ") and "Traceback" not in told.err


@pytest.mark.parametrize("window", ["3x", "3x3x3", "a", "3,"])
def test_a_window_that_is_none_is_a_usage_error(run, file, tmp_path, window):
    done = run("convert", file, "out.pth", "--to", "timm", "--window", window)
    assert done.code == 2
    assert "--window" in done.err


def _pickle(content, path):
    path.write_bytes(pickle.dumps(content))
