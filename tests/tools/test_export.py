"""The tool as a user starts it; what is inside is tested in tests/export."""

import importlib

import onnxruntime
import pytest
import torch
from mmengine.config import Config
from random_weights import worst_difference

from swin_mm.export import load_part

DETECTOR, SEGMENTOR = "configs/mask_rcnn_swin_t.py", "configs/upernet_swin_t.py"
TINY = ["--cfg-options", "model.backbone.embed_dims=8", "model.backbone.depths=[1,1,1,1]"]
TINY += ["model.backbone.num_heads=[1,1,2,2]"]


@pytest.mark.nightly  # tests/export has networks that are smaller
def test_a_trained_detectors_maps_are_those_of_the_file(call, trained, tmp_path):
    words = [str(trained.config), str(trained.checkpoint), "--to", "onnx", "--part", "neck"]
    ended = call("export.py", *words, "--image-size", "40x50", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "onnxruntime" in ended.out and "1 of 40x50" in ended.out
    told = [line.split()[0] for line in ended.out.splitlines() if line.strip()]
    assert [one for one in told if one in ("Tracing", "Writing", "Comparing")] == [
        "Tracing",
        "Writing",
        "Comparing",
    ]
    assert ended.out.count("ok") == 4 and "Wrote mask_rcnn_swin_t_neck.onnx" in ended.out
    assert [file.name for file in tmp_path.iterdir()] == ["mask_rcnn_swin_t_neck.onnx"]
    network, _ = load_part(Config.fromfile(trained.config), str(trained.checkpoint), "neck")
    x = torch.randn(1, 3, 66, 93)
    with torch.no_grad():
        expected = network(x)
    session = onnxruntime.InferenceSession(tmp_path / "mask_rcnn_swin_t_neck.onnx")
    for ours, theirs in zip(session.run(None, {"pictures": x.numpy()}), expected, strict=True):
        assert worst_difference(torch.from_numpy(ours), theirs) < 1e-4
    ended = call("export.py", *words, cwd=tmp_path)
    assert ended.code == 2 and "is there already" in ended.err


def test_a_difference_is_shown_and_ends_with_exit_code_2(call, tmp_path, monkeypatch):
    exporting = importlib.import_module("swin_mm.export.exporting")
    monkeypatch.setattr(exporting, "trace", lambda network, example, *, write_out: None)
    monkeypatch.setattr(exporting.to_torch, "write", lambda program, path, said: path.touch())
    monkeypatch.setattr(exporting.to_torch, "load", lambda path: (lambda x: [x] * 4, "a runtime"))
    words = [DETECTOR, "none", "--to", "torch-export", "--out", str(tmp_path / "n.pt2"), *TINY]
    ended = call("export.py", *words)
    assert ended.code == 2
    assert "wrong" in ended.out and "nothing was written" in ended.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((DETECTOR, "none", "--part", "model"), "--part neck"),
        ((SEGMENTOR, "none", "--part", "neck"), "no neck"),
        (("configs/mask_rcnn_swin_x.py", "none"), "did you mean configs/mask_rcnn_swin_t.py"),
        ((DETECTOR, "nowhere.pth"), "no such checkpoint: nowhere.pth"),
        ((DETECTOR, "none", "--opset", "11"), "18 to 23, got 11"),
        ((DETECTOR, "none", "--image-size", "800"), "invalid size value"),
        ((DETECTOR, "none", "--size", "8x8"), "did you mean --image-size"),
    ],
)
def test_a_wrong_word_is_one_message_and_exit_code_2(call, tmp_path, words, message):
    out = ["--to", "onnx", "--out", str(tmp_path / "n.onnx")]
    options = TINY if words[0] == DETECTOR else []
    ended = call("export.py", *words, *out, *options)
    assert ended.code == 2
    assert message in ended.err and "error: " in ended.err
    assert not list(tmp_path.iterdir())
