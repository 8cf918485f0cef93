"""Whole exports: written, read back by the runtime, compared, kept or not."""

import json
import os
import shutil
import signal
import sys

import cv2
import onnxruntime
import openvino
import pytest
import torch
from random_weights import worst_difference

from swin_mm import SwinTransformer
from swin_mm.export import (
    Description,
    ExportError,
    MismatchError,
    Segmentor,
    compare,
    export,
    to_onnx,
)
from swin_mm.export.description import Pixels

SIZES = [(1, 1, 1), (3, 28, 28), (2, 61, 75), (1, 112, 56), (1, 4, 130)]
SUFFIX = {"onnx": ".onnx", "openvino": ".xml", "torch-export": ".pt2"}


def by_onnxruntime(path):
    session = onnxruntime.InferenceSession(path)
    return lambda x: session.run(None, {"pictures": x.numpy()})


def by_openvino(path):
    compiled = openvino.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda x: list(compiled({"pictures": x.numpy()}).values())


def by_torch(path):
    return torch.export.load(path).module()


def said_by(path):
    """What a file says of itself."""
    if path.suffix == ".pt2":
        extra = {"swin_mm.json": ""}
        torch.export.load(path, extra_files=extra)
        said = json.loads(extra["swin_mm.json"])
    elif path.suffix == ".onnx":
        said = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    else:
        model = openvino.Core().read_model(path)
        assert str(model.inputs[0].partial_shape) == "[?,3,?,?]"
        return {"part": model.get_rt_info(["swin_mm", "part"]).value}
    return {key.removeprefix("swin_mm."): value for key, value in said.items()}


def assert_same(network, run):
    for batch, *size in SIZES:
        x = torch.randn(batch, 3, *size)
        with torch.no_grad():
            found = [torch.as_tensor(one) for one in run(x)]
            pairs = zip(found, network(x), strict=True)
        assert max(worst_difference(*pair) for pair in pairs) <= 1e-4, (batch, *size)


@pytest.mark.parametrize(
    ("version", "depths", "to", "read"),
    [
        (1, (1, 2), "onnx", by_onnxruntime),
        pytest.param(2, (2,), "onnx", by_onnxruntime, marks=pytest.mark.nightly),
        (1, (1, 1), "openvino", by_openvino),
        pytest.param(2, (2,), "torch-export", by_torch, marks=pytest.mark.nightly),
    ],
    ids=["v1, ONNX", "v2, ONNX", "OpenVINO", "torch"],
)
def test_a_backbone_runs_elsewhere_at_any_size(build, tmp_path, version, depths, to, read):
    network = build(version, depths=depths)
    done = export(network, tmp_path / f"net{SUFFIX[to]}", to=to, image_size=(40, 33))
    assert done.comparison.rows[3].size == (1, 40, 33)
    assert {file.name for file in done.files} == {file.name for file in tmp_path.iterdir()}
    assert done.comparison.is_within and len(done.comparison.rows) == 4
    moved = shutil.copytree(tmp_path, tmp_path / "moved")
    assert_same(network, read(moved / done.files[0].name))
    assert said_by(done.files[0])["part"] == "backbone"


@pytest.fixture(scope="module")
def small(build):
    return build(depths=(1,))


def test_exported_to_onnx_it_says_what_it_is(small, tmp_path):
    import onnx

    description = Description("backbone", ("map0",), (4,), Pixels("RGB", (1.5,), (2.0,)))
    path = export(small, tmp_path / "n.onnx", to="onnx", description=description, opset=21).files[0]
    model = onnx.load(path)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 21)]
    assert not model.functions and not {node.domain for node in model.graph.node} - {""}
    sizes = [[d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
             for value in (*model.graph.input, *model.graph.output)]  # fmt: skip
    assert sizes[0] == ["batch", 3, "height", "width"]
    assert sizes[1][:2] == ["batch", 8] and "height" in sizes[1][2] and "width" in sizes[1][3]
    said = {one.key: one.value for one in model.metadata_props}
    assert json.loads(said["swin_mm.pixels"]) == {"order": "RGB", "mean": [1.5], "std": [2.0]}
    assert said["swin_mm.part"] == "backbone" and said["swin_mm.input"] == "pictures"
    assert b"/swin_mm/" not in path.read_bytes()  # no line of source, no path


def test_weights_too_large_for_a_file_lie_beside_it(small, tmp_path, monkeypatch):
    monkeypatch.setattr(to_onnx, "LARGEST_FILE", 1000)
    done = export(small, tmp_path / "large.onnx", to="onnx")
    assert [file.name for file in done.files] == ["large.onnx", "large.onnx.data"]
    moved = shutil.copytree(tmp_path, tmp_path / "moved")
    session = onnxruntime.InferenceSession(moved / "large.onnx")
    x = torch.randn(1, 3, 30, 20)
    found = torch.from_numpy(session.run(None, {"pictures": x.numpy()})[0])
    assert worst_difference(found, small(x)[0]) < 1e-4


@pytest.fixture(scope="module")
def labeller(segmentor, tmp_path_factory):
    """A segmentor, and its file in onnxruntime."""
    model = segmentor()
    pixels = Pixels("RGB", (120.0, 110.0, 100.0), (50.0, 60.0, 70.0))
    description = Description("model", ("logits",), (1,), pixels, True, ("sky", "sea", "land"))
    out = tmp_path_factory.mktemp("a segmentor") / "s.onnx"
    export(Segmentor(model, pixels), out, to="onnx", description=description)
    return model, onnxruntime.InferenceSession(out)


def assert_same_logits(labeller, bgr):
    """Give pixels (3, H, W) to the host as they are read, and to the file as they are called."""
    model, session = labeller
    found = session.run(["logits"], {"pixels": bgr.flip(0)[None].float().numpy()})[0]
    with torch.no_grad():
        packed = model.data_preprocessor({"inputs": [bgr]})
        expected = model.predict(packed["inputs"])[0].seg_logits.data
    assert worst_difference(torch.from_numpy(found)[0], expected) < 1e-4


def test_a_segmentor_takes_pixels_and_gives_the_hosts_logits(labeller):
    assert_same_logits(labeller, torch.randint(0, 256, (3, 45, 62), dtype=torch.uint8))


def test_so_it_does_for_a_real_photograph(labeller, real_data):
    photo = next(iter(sorted(real_data.rglob("*.jpg"))))
    assert_same_logits(labeller, torch.from_numpy(cv2.imread(str(photo))).permute(2, 0, 1))


class Fickle(SwinTransformer):
    """Computes something else for high pictures, as no graph of one size can tell."""

    def _maps(self, x):
        return super()._maps(2 * x if x.shape[2] > 100 else x)


def test_what_computes_something_else_is_not_kept(tmp_path):
    network = Fickle(depths=(1,), embed_dims=8, num_heads=(1,), strides=(4,), out_indices=(0,))
    (tmp_path / "old.onnx").write_text("an older one")
    with pytest.raises(MismatchError, match="nothing was written") as told:
        export(network, tmp_path / "old.onnx", to="onnx", force=True)
    assert not told.value.comparison.rows[0].is_within
    assert [file.read_text() for file in tmp_path.iterdir()] == ["an older one"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("n.pth", {"to": "onnx"}, "ends in .onnx, got n.pth"),
        ("n.onnx", {"to": "tflite"}, "one of onnx, openvino, torch-export, got 'tflite'"),
        ("n.onnx", {"to": "onnx", "opset": 17}, "18 to 23, got 17"),
        ("n.xml", {"to": "openvino", "opset": 18}, "--opset is ONNX's"),
        ("n.onnx", {"to": "onnx", "image_size": (0, 4)}, "1x1 px at least, got 0x4"),
        ("none/n.onnx", {"to": "onnx"}, "there is no folder"),
        ("old.onnx", {"to": "onnx"}, "is there already"),
        ("old.xml", {"to": "openvino"}, "old.bin is there already"),
        ("large.onnx", {"to": "onnx"}, "large.onnx.data is there already"),
        ("folder.pt2", {"to": "torch-export", "force": True}, "folder.pt2 is a folder or a device"),
    ],
)
def test_what_cannot_come_to_an_end_is_refused_at_once(
    small, tmp_path, monkeypatch, name, options, message
):
    for old in ("old.onnx", "old.bin", "large.onnx.data"):
        (tmp_path / old).write_text("old")
    (tmp_path / "folder.pt2").mkdir()
    monkeypatch.setattr("swin_mm.export.exporting.trace", None)
    with pytest.raises(ExportError, match=message):
        export(small, tmp_path / name, **options)


def test_a_folder_that_takes_nothing_is_refused_at_once(small, tmp_path, monkeypatch):
    monkeypatch.setattr("swin_mm.export.exporting.trace", None)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(ExportError, match="nothing can be written into"):
        export(small, tmp_path / "n.pt2", to="torch-export")


def test_sigterm_leaves_nothing_half_written(small, tmp_path, monkeypatch):
    def stopped(program, path, description):
        path.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("swin_mm.export.exporting.trace", lambda *_, **__: None)
    monkeypatch.setattr("swin_mm.export.to_torch.write", stopped)
    with pytest.raises(SystemExit) as stop:
        export(small, tmp_path / "n.pt2", to="torch-export")
    assert stop.value.code == 143 and not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("to", "package", "extra"),
    [("onnx", "onnxscript", "export"), ("onnx", "onnxruntime", "export"),
     ("openvino", "openvino", "openvino"), ("openvino", "onnxscript", "export")],
)  # fmt: skip
def test_a_missing_package_is_named_with_its_extra(
    small, tmp_path, monkeypatch, to, package, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("swin_mm.export.exporting.trace", None)  # told before minutes of work
    with pytest.raises(ExportError, match=rf'needs {package}, .*pip install "swin_mm\[{extra}\]"'):
        export(small, tmp_path / f"n{SUFFIX[to]}", to=to)
    assert not list(tmp_path.iterdir())


def test_only_a_backbone_describes_itself(segmentor, tmp_path):
    network = Segmentor(segmentor(), Pixels.of({}))
    with pytest.raises(ExportError, match="description="):
        export(network, tmp_path / "n.onnx", to="onnx")


def test_a_runtime_that_fails_is_told_in_the_table(small):
    def fail(x):
        raise RuntimeError("no such\n operator")

    rows = compare.compare(small, fail, runtime="none", sizes=[(1, 5, 5)]).rows
    assert rows[0].failure == "no such operator" and not rows[0].is_within
