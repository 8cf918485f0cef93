"""The page on recipes: every line of it runs, on small networks and the drawn scenes."""

import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DATASETS
from model_facts import CONFIGS, ROOT, build, read
from shrinking import shrunk

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine import run_tool, train
from swin_mm.engine.config import import_host

PAGE = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
COMMANDS = [line for tag, text in BLOCKS if not tag for line in text.splitlines()]
# One config for each row of the table of methods.
COUNTED = {
    "Mask R-CNN": ["mask_rcnn_swin_t"],
    "Cascade Mask R-CNN": ["cascade_mask_rcnn_swin_t"],
    "RetinaNet, ATSS, DINO": ["retinanet_swin_t", "atss_swin_t", "dino_swin_l"],
    "Sparse R-CNN": ["sparse_rcnn_swin_t"],
    "Mask2Former, instances": ["mask2former_instance_swin_t"],
    "Mask2Former, semantic": ["mask2former_semantic_swin_t"],
    "UPerNet": ["upernet_swin_t"],
    "Semantic FPN": ["sem_fpn_swin_t"],
}
CFGS = {name: read(name) for name in CONFIGS}  # to look at; what is changed is read anew
ROWS = dict(re.findall(r"^\| ([^|]+) \| (`model\..*n.*) \|$", PAGE, re.M))
pytestmark = pytest.mark.usefixtures("own_mmengine")


@pytest.fixture
def call(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> Callable[..., tuple[int, str]]:
    """Run a tool in this process; return its exit code and what it said."""

    def called(tool: str, *words: str) -> tuple[int, str]:
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "argv", [tool, *words, "--work-dir", str(tmp_path / "work")])
        main = runpy.run_path(str(root / tool))["main"]
        try:
            code = run_tool(main)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, "".join(capsys.readouterr())

    return called


@pytest.fixture(scope="module")
def checkpoint(
    tiny_scenes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Train a small model of a config once."""
    kept: dict[str, Path] = {}

    def trained(name: str) -> Path:
        if name not in kept:
            folder = tmp_path_factory.mktemp(name)
            step(ROOT / "configs" / f"{name}.py", folder, tiny_scenes, shrunk(CFGS[name]))
            kept[name] = folder / "iter_1.pth"
        return kept[name]

    return trained


def step(
    config: Path, work_dir: Path, data: Path, options: dict, weights: str = "none"
) -> dict[str, torch.Tensor]:
    """Train for one iteration and return the weights."""
    train(
        str(config),
        work_dir=str(work_dir),
        data_root=str(data),
        weights=weights,
        max_iters=1,
        image_scale=0.12,
        seed=0,
        options=options,
    )
    return read_checkpoint(work_dir / "iter_1.pth")["state_dict"]


def small(command: str, data: Path) -> list[str]:
    """Shrink a command; what it says itself comes last and holds."""
    words = shlex.split(command)
    words = words[words.index("python") + 1 :] if "python" in words else words[3:]  # torchrun's
    tool, config, *rest = words
    for option in ("--launcher", "--weights", "--max-iters", "--image-scale"):
        if option in rest:
            del rest[rest.index(option) : rest.index(option) + 2]
    fast = ["--data-root", str(data), "--image-scale", "0.12"]
    if tool.endswith("train.py"):
        fast += ["--weights", "none", "--max-iters", "1"]
    options = shrunk(CFGS[stem(config)]).items()
    shrinking = [f"{key}={value}".replace(" ", "") for key, value in options]
    return [tool, config, *fast, "--cfg-options", *shrinking, *rest]


def stem(config: str) -> str:
    return Path(config).stem


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs(command: str, call, checkpoint, tiny_scenes: Path) -> None:
    tool, config, *rest = small(command, tiny_scenes)
    if tool.endswith("test.py"):
        kept = str(checkpoint(stem(config)))
        rest = [kept, *(word for word in rest if not word.startswith("work_dirs"))]
    code, said = call(tool, config, *rest)
    if "--amp" in rest and not torch.cuda.is_available():
        assert (code, "--amp needs a GPU" in said) == (2, True)
        return
    assert code == 0, said
    assert ("Tested" if tool.endswith("test.py") else "Trained 1 iter") in said


def test_every_shown_option_is_the_tools_and_no_tool_is_forgotten(call) -> None:
    told = {}
    for tool in ("tools/train.py", "tools/test.py"):
        code, told[tool] = call(tool, "--help")
        assert code == 0
    shown = [re.search(r"tools/\w+\.py", line)[0] for line in COMMANDS]
    assert set(shown) == set(told)
    for tool, line in zip(shown, COMMANDS, strict=True):
        words = line[line.index(tool) :].split()
        assert [word for word in words if word.startswith("--") and word not in told[tool]] == []


def test_the_configs_that_are_recommended_exist_and_say_the_figures() -> None:
    named = re.findall(r"`configs/(\w+)\.py` \| ([^|]*)", PAGE)
    assert len(named) == 10
    for name, reason in named:
        assert name in CONFIGS
        for figure in re.findall(r"(\d+\.\d+) (?:box AP;|mask AP|mIoU)", reason):
            assert float(figure) in CFGS[name].zoo.published.values()


def test_the_figures_that_compare_are_right() -> None:
    zoo = {name: cfg.zoo for name, cfg in CFGS.items()}
    one, three, cascade = (
        zoo[name]
        for name in ("mask_rcnn_swin_t_1x", "mask_rcnn_swin_t", "cascade_mask_rcnn_swin_t")
    )
    assert round(three.published.box_ap - one.published.box_ap, 1) == 2.3
    assert round(cascade.published.box_ap - three.published.box_ap, 1) == 4.4
    assert round(cascade.flops / three.flops, 1) == 2.8
    sizes = {name: one.params for name, one in zoo.items() if one.data == "COCO"}
    assert min(sizes, key=sizes.get) == "atss_swin_t"
    pyramid, upernet = zoo["sem_fpn_swin_t"], zoo["upernet_swin_t"]
    assert pyramid.params / upernet.params == pytest.approx(0.5, abs=0.05)
    assert 4 * pyramid.flops / upernet.flops == pytest.approx(0.2, abs=0.01)  # 512 of 2048 px
    assert zoo["upernet_swin_b"].published.miou == pytest.approx(48.1, abs=0.05)
    assert zoo["upernet_swin_b_22k"].published.miou == pytest.approx(50.1, abs=0.05)
    batches = {name: cfg.auto_scale_lr.base_batch_size for name, cfg in CFGS.items()}
    assert batches == {**dict.fromkeys(CFGS, 16), "sem_fpn_swin_t": 32}


def mine(number: int, folder: Path, **changed: str) -> Path:
    """Write the page's config of one's own classes, its base by its full path."""
    code = [text for tag, text in BLOCKS if tag == "python"][number]
    code = code.replace('"./', f'"{ROOT}/configs/')
    for old, new in changed.items():
        assert f'"{old}"' in code
        code = code.replace(f'"{old}"', f'"{new}"')
    file = folder / "mine.py"
    file.write_text(code, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def categories(tiny_scenes: Path) -> list[str]:
    """Two categories that the scenes hold, in the file's order."""
    world = json.loads((tiny_scenes / "annotations/instances_train2017.json").read_text())
    held = {one["category_id"] for one in world["annotations"]}
    return [one["name"] for one in world["categories"] if one["id"] in held][:2]


def test_a_detector_of_ones_own_classes_starts_from_a_published_one(
    checkpoint, categories: list[str], tiny_scenes: Path, tmp_path: Path
) -> None:
    first, second = categories
    config = mine(0, tmp_path, cat=first, dog=second)
    before = read_checkpoint(checkpoint("mask_rcnn_swin_t"))["state_dict"]
    frozen = {"optim_wrapper.optimizer.lr": 0.0}
    options = shrunk(CFGS["mask_rcnn_swin_t"]) | frozen
    start = str(checkpoint("mask_rcnn_swin_t"))
    after = step(config, tmp_path / "work", tiny_scenes, options, weights=start)
    head = "roi_head.bbox_head"
    assert after[f"{head}.fc_cls.weight"].shape[0] == 3  # two and "nothing"
    assert after[f"{head}.fc_reg.weight"].shape[0] == 8
    assert after["roi_head.mask_head.conv_logits.weight"].shape[0] == 2
    for name in ("neck.fpn_convs.0.conv.weight", f"{head}.shared_fcs.0.weight"):
        assert torch.equal(after[name], before[name])


def test_a_segmentor_of_ones_own_classes(tiny_scenes: Path, tmp_path: Path) -> None:
    """Values 0 and 1 are classes, 255 is nothing; also where a test sees several scales."""
    data = tmp_path / "land"
    shutil.copytree(tiny_scenes / "ADEChallengeData2016", data)
    for place in (data / "annotations").rglob("*.png"):
        labels = cv2.imread(str(place), cv2.IMREAD_UNCHANGED)
        labels = labels.astype(np.uint8) % 2
        labels[: len(labels) // 2, ::2] = 255
        cv2.imwrite(str(place), labels)
    config = mine(1, tmp_path)
    cfg = Config.fromfile(config)
    import_host(cfg)
    samples = DATASETS.build({**cfg.train_dataloader.dataset, "data_root": str(data)})
    labels = torch.cat([one["data_samples"].gt_sem_seg.data.flatten() for one in samples])
    assert labels.unique().tolist() == [0, 1, 255]
    options = shrunk(CFGS["upernet_swin_t"])
    weights = step(config, tmp_path / "work", data, options)
    for head in ("decode_head", "auxiliary_head"):
        assert weights[f"{head}.conv_seg.weight"].shape[0] == 2
    from swin_mm.engine import test as test_checkpoint

    test_checkpoint(
        str(tmp_path / "work/mine.py"),
        str(tmp_path / "work/iter_1.pth"),
        work_dir=str(tmp_path / "test"),
        tta=True,
    )


def test_every_method_has_a_row() -> None:
    assert ROWS.keys() == COUNTED.keys()
    shown = {CFGS[name].zoo.method for names in COUNTED.values() for name in names}
    assert shown == {cfg.zoo.method for cfg in CFGS.values()}


def settings(row: str) -> dict:
    """Read a row of the table for two classes."""
    found: dict = {}
    for key, value in re.findall(r"(model\.\S+)=(\S+?)(?=[ `])", ROWS[row]):
        found[key] = 2 if value == "n" else [1.0, 1.0, 0.1]
    if "for 1 to 5" in ROWS[row]:
        (key,) = found
        found = {key.replace(".0.", f".{number}."): 2 for number in range(6)}
    return found


@pytest.mark.parametrize(
    ("row", "name"), [(row, name) for row, names in COUNTED.items() for name in names]
)
def test_the_settings_that_count_classes_are_all_there_are(row: str, name: str) -> None:
    """With two classes no weight is left that has one for each of 80 or 150."""
    cfg = read(name)
    cfg.merge_from_dict(settings(row))
    counts = {80, 81, 150, 151, 320, 720}  # 4 coordinates, 9 anchors
    left = {name for name, one in build(cfg).named_parameters() if counts & set(one.shape)}
    # 8 heads, 5 maps, 4 points and 2 coordinates are 320 too.
    assert {name for name in left if "sampling_offsets" not in name} == set()


def test_weights_of_classes_are_counted_too(
    categories: list[str], tiny_scenes: Path, tmp_path: Path
) -> None:
    """They are read by the loss alone: Mask2Former's fails without."""
    options = settings("Mask2Former, instances") | shrunk(CFGS["mask2former_instance_swin_t"])
    for split in ("train", "val", "test"):
        options[f"{split}_dataloader.dataset.metainfo"] = {"classes": categories}
    config = ROOT / "configs/mask2former_instance_swin_t.py"
    assert step(config, tmp_path / "work", tiny_scenes, options)
    del options["model.panoptic_head.loss_cls.class_weight"]
    with pytest.raises(RuntimeError, match="weight tensor"):
        step(config, tmp_path / "other", tiny_scenes, options)
