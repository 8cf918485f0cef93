"""The checkpoints that MMDetection and MMSegmentation publish load into our configs, all of them.

The files themselves are large and far away. For each, the publisher's own model is built from the
publisher's own config, and a file of its names and shapes is saved and read. Models have no memory
and rows in the file overlap, so that this costs nothing.
"""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
import yaml
from mmengine.config import Config
from mmengine.runner import CheckpointLoader, load_checkpoint
from model_facts import CONFIGS, ROOT, build, read
from torch import Tensor, nn

from swin_mm.checkpoints import CheckpointError
from swin_mm.engine.box_encoding import LAYER
from swin_mm.engine.safe_loading import allow_safe_reading
from swin_mm.engine.whole_models import fit_to_model, with_state_dict

LINES = json.loads((ROOT / "docs/published.json").read_text(encoding="utf-8"))
DINOS = [line for line in LINES if line["config"].startswith("dino")]
NAMES = [line["config"].partition("/")[2] for line in LINES]
# What our configs are of, by the folders of the publishers' own.
FAMILIES = ("swin", "dino", "mask2former")
METRICS = {"box AP": "box_ap", "mask AP": "mask_ap", "PQ": "pq"}
METRICS |= {"mIoU": "miou", "mIoU(ms+flip)": "miou_tta"}
pytestmark = [
    pytest.mark.usefixtures("own_mmengine"),
    pytest.mark.filterwarnings("ignore:.*copying from a non-meta parameter"),  # shapes are all
]


def configs_of(host: str) -> Path:
    """Return the folder of the configs that a publisher installs."""
    pytest.importorskip(host)
    return Path(importlib.util.find_spec(host).origin).parent / ".mim/configs"


def published_by(host: str) -> dict[str, dict]:
    """Return what a publisher's lists tell of Swins in the families that we have, by config."""
    found = {}
    for path in sorted(configs_of(host).glob("*/metafile.y*ml")):
        listed = yaml.safe_load(path.read_text(encoding="utf-8"))
        for model in listed.get("Models", []) if isinstance(listed, dict) else listed:
            if path.parent.name in FAMILIES and "swin" in model["Name"] and model.get("Weights"):
                found[f"{path.parent.name}/{model['Name']}"] = model
    return found


def theirs(line: dict, monkeypatch: pytest.MonkeyPatch) -> nn.Module:
    """Build the publisher's own model without memory."""
    linspace = torch.linspace  # their Swin reads the numbers of its stochastic depth from it
    monkeypatch.setattr(torch, "linspace", lambda *words: linspace(*words, device="cpu"))
    model = build(Config.fromfile(configs_of(line["host"]) / f"{line['config']}.py"))
    assert type(model.backbone).__module__.startswith(f"{line['host']}.")
    return model


def ours(line: dict) -> nn.Module:
    """Build the model of our config for a line."""
    cfg = read(line["ours"])
    cfg.merge_from_dict(line["options"])
    return build(cfg)


def hollow(tensor: Tensor) -> Tensor:
    """Return a tensor of the same shape whose rows overlap: a file of it has a few bytes."""
    numbers = torch.zeros(sum(tensor.shape) + 1, dtype=tensor.dtype, device="cpu")
    return numbers.as_strided(tensor.shape, (1,) * tensor.ndim)


def shapes(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(one.shape) for name, one in model.state_dict().items()}


@pytest.mark.parametrize("line", LINES, ids=NAMES)
def test_a_file_of_its_names_and_shapes_fills_our_model(
    line: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    published, model = theirs(line, monkeypatch), ours(line)
    assert shapes(published) == shapes(model)
    file = tmp_path / Path(line["file"]).name
    tensors = {name: hollow(one) for name, one in published.state_dict().items()}
    torch.save({"meta": {}, "state_dict": tensors}, file)
    allow_safe_reading()
    checkpoint = load_checkpoint(model, str(file), strict=True)
    assert fit_to_model(with_state_dict(checkpoint), model) == ()


@pytest.mark.parametrize("line", DINOS, ids=lambda one: one["ours"])
def test_dinos_files_have_the_width_of_the_release_that_wrote_them(
    line: dict, tmp_path: Path
) -> None:
    """MMDetection 3.3 wrote them; the maintained release's DINO has a layer twice as wide."""
    model = ours(line)
    tensors = {name: hollow(one) for name, one in model.state_dict().items()}
    tensors[LAYER] = hollow(torch.empty(256, 512, device="meta"))
    torch.save({"meta": {}, "state_dict": tensors}, tmp_path / "dino.pth")
    allow_safe_reading()
    checkpoint = CheckpointLoader.load_checkpoint(str(tmp_path / "dino.pth"))
    assert fit_to_model(checkpoint, model) == ()
    assert {name: tuple(one.shape) for name, one in checkpoint["state_dict"].items()} == shapes(
        model
    )


def test_another_width_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above would prove nothing."""
    by_name = dict(zip(NAMES, LINES, strict=True))
    tiny = by_name["swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512"]
    small = next(line for name, line in by_name.items() if name.startswith("swin-small"))
    tensors = {name: hollow(one) for name, one in theirs(tiny, monkeypatch).state_dict().items()}
    with pytest.raises(CheckpointError, match="depth 6 in stage 2, the model 18"):
        ours(small).load_state_dict(tensors, strict=True)


@pytest.mark.parametrize("host", ["mmdet", "mmseg"])
def test_every_published_swin_of_our_methods_has_its_line(host: str) -> None:
    lines = {line["config"]: line for line in LINES if line["host"] == host}
    published = published_by(host)
    assert lines.keys() == published.keys()
    for name, line in lines.items():
        # The distributions name their own servers; the path below is one.
        path = published[name]["Weights"].partition("/v")[2] or published[name]["Weights"]
        assert line["file"].endswith(path)
        results = published[name]["Results"]
        results = results if isinstance(results, list) else [results]
        metrics = {key: value for one in results for key, value in one["Metrics"].items()}
        assert {METRICS[key]: value for key, value in metrics.items()} == line["metrics"]
        assert {one["Dataset"] for one in results} == {line["data"]}


@pytest.mark.parametrize("line", LINES, ids=NAMES)
def test_options_are_settings_that_the_config_has(line: dict) -> None:
    assert line["ours"] in CONFIGS
    cfg = read(line["ours"])
    missing = {"model.backbone.window_size", "model.backbone.pretrain_img_size"}  # the network's
    for key, value in line["options"].items():
        node = cfg
        *parents, last = key.split(".")
        for name in parents:
            node = node[name]
        assert last in node or key in missing
        assert node.get(last) != value
