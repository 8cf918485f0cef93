"""tools/inspect_checkpoint.py and tools/convert_checkpoint.py, as they are typed."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import swin_mm
from swin_mm.checkpoints import read_checkpoint

TOOLS = Path(__file__).parents[2] / "tools"


def run(tool, *arguments, cwd):
    command = [sys.executable, str(TOOLS / f"{tool}_checkpoint.py"), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(TOOLS.parent), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    sizes = {"embed_dims": 8, "depths": (1, 1), "num_heads": (1, 2), "strides": (4, 2)}
    model = swin_mm.SwinTransformer(**sizes, out_indices=(1,), window_size=3)
    path = tmp_path_factory.mktemp("files") / "swin.pth"
    torch.save(model.state_dict(), path)
    return path


def test_a_file_is_converted_there_and_back(file, tmp_path):
    there = run("convert", file, "there.safetensors", "--to", "torchvision", cwd=tmp_path)
    assert there.returncode == 0, there.stderr
    assert "openmmlab (SwinV1) -> torchvision" in there.stdout
    assert "note: the file has no classifier's head" in there.stdout
    back = run("convert", "there.safetensors", "back.pth", "--to", "openmmlab", cwd=tmp_path)
    assert back.returncode == 0, back.stderr
    tensors = read_checkpoint(tmp_path / "back.pth")["state_dict"]
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in torch.load(file).items())


def test_windows_channels_and_detectron2s_pickle_are_options(file, tmp_path):
    options = ["--window", "5", "--in-channels", "1", "--resize-bias", "geometric"]
    done = run("convert", file, "out.pkl", "--to", "detectron2", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = run("inspect", "out.pkl", "--tensors", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "windows     5x5, 5x5" in told.stdout
    assert "4x4 px of 1 channels" in told.stdout
    assert "patch_embed.proj.weight -> patch_embed.projection.weight (8, 1, 4, 4)" in told.stdout


def test_nothing_is_overwritten_unless_told_to(file, tmp_path):
    (tmp_path / "out.pth").write_text("mine")
    refused = run("convert", file, "out.pth", "--to", "timm", cwd=tmp_path)
    assert refused.returncode == 2
    assert "there already" in refused.stderr and "--force" in refused.stderr
    assert (tmp_path / "out.pth").read_text() == "mine"
    assert run("convert", file, "out.pth", "--to", "timm", "--force", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("tool", ["inspect", "convert"])
def test_a_hostile_file_is_refused_and_runs_nothing(tool, tmp_path):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'ran'}",)

    for name, dump in (("bad.pth", torch.save), ("bad.pkl", _pickle)):
        dump({"model": Hostile()}, tmp_path / name)
        rest = ["out.pth", "--to", "timm"] if tool == "convert" else []
        refused = run(tool, name, *rest, cwd=tmp_path)
        assert refused.returncode == 2
        assert "--unsafe" in refused.stderr or "unsafe" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not (tmp_path / "ran").exists()
        assert not (tmp_path / "out.pth").exists()


@pytest.mark.parametrize("window", ["3x", "3x3x3", "a", "3,"])
def test_a_window_that_is_none_is_a_usage_error(file, tmp_path, window):
    done = run("convert", file, "out.pth", "--to", "timm", "--window", window, cwd=tmp_path)
    assert done.returncode == 2
    assert "--window" in done.stderr


def _pickle(content, path):
    path.write_bytes(pickle.dumps(content))
