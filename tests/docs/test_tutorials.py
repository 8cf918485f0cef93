"""The tutorials as a newcomer does them: every file saved, every command run, at toy size."""

import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from swin_mm.engine import run_tool
from swin_mm.engine.config import read_config
from swin_mm.engine.datasets import require_data

pytestmark = pytest.mark.usefixtures("own_mmengine")
SAVED = re.compile(r"[Ss]ave (?:as|this as) `([\w/]+\.py)`")
# A fence, its language, its text, and the mark above it, in the order of the page.
FENCE = re.compile(r"^(?:<!-- ([^>\n]+) -->\n)?```([^`\n]*)\n(.*?)^```$", re.M | re.S)
SMALLER = {"--images 300": "--images 8 --val 2 --size 96x72 --jobs 1", "300": "2"}


def page(root: Path, name: str) -> str:
    return (root / f"docs/tutorial_{name}.md").read_text(encoding="utf-8")


def steps(text: str) -> list[tuple[str, str]]:
    """What a page tells to do before "Your own pictures": files to save, commands to type."""
    told = []
    text = text.partition("## Your own")[0]
    for fence in FENCE.finditer(text):
        mark, language, code = fence.groups()
        named = SAVED.findall(text[: fence.start()])
        if language == "python":
            told.append((named[-1], code))
        elif not language and code.startswith("python ") and not mark:
            told += [("", line) for line in code.splitlines()]
    return told


@pytest.fixture
def clone(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a clone from inside: configs and tools, nothing else."""
    for name in ("configs", "tools"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def type_in(clone: Path, shrink: dict, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Run a command line in this process, smaller; return its exit code."""

    def typed(line: str, task: str) -> int:
        for long, short in SMALLER.items():
            line = re.sub(rf"(?<![\d.]){long}(?!\d)", short, line)
        _, script, *words = shlex.split(line)
        if script.endswith("train.py"):
            words += [f"{key}={value}".replace(" ", "") for key, value in shrink[task].items()]
            words[words.index("--image-scale") + 1] = "0.12"
        monkeypatch.setattr(sys, "argv", [script, *words])
        tool = runpy.run_path(script, run_name="typed")
        try:
            return run_tool(tool["main"]) if "main" in tool else 0
        except SystemExit as stop:
            return int(stop.code or 0)

    return typed


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("detection", ["work_dirs/toys/iter_2.pth", "work_dirs/toys/loss.png", "found"]),
        (
            "segmentation",
            ["work_dirs/toys_seg/iter_2.pth", "work_dirs/toys_seg/shown", "found_seg"],
        ),
    ],
)
def test_a_newcomer_comes_from_nothing_to_predictions(root, clone, type_in, name, found, capsys):
    told = steps(page(root, name))
    assert [bool(file) for file, _ in told].count(True) == {"detection": 1, "segmentation": 2}[name]
    for file, text in told:
        if file:
            (clone / file).write_text(text, encoding="utf-8")
        else:
            assert type_in(text, name) == 0, (text, capsys.readouterr().err)
    for path in found:
        assert (clone / path).is_file() or any((clone / path).iterdir()), path
    said = capsys.readouterr().out
    assert ("bbox_mAP" if name == "detection" else "mIoU") in said
    assert "Predicted on 2 of 2 pictures" in said


@pytest.mark.parametrize("name", ["detection", "segmentation"])
def test_the_commands_for_a_card_differ_from_the_others_by_options_alone(root, name):
    text = page(root, name)
    card = [code for mark, _, code in FENCE.findall(text) if mark == "needs a card"]
    (start,) = (one.strip() for one in card)
    assert any(line.startswith(start) for _, line in steps(text))


def test_a_config_of_ones_own_has_five_lines(root):
    for name in ("detection", "segmentation"):
        (config,) = (text for file, text in steps(page(root, name)) if file.startswith("toys"))
        assert len(config.splitlines()) == 5


def test_the_annotation_file_that_is_shown_is_read(root, tmp_path):
    """The three lists and their keys are enough: a box, a mask, and the class by its place."""
    from mmdet.datasets import CocoDataset

    shown = json.loads(re.search(r"```json\n(.*?)```", page(root, "detection"), re.S)[1])
    (tmp_path / "shown.json").write_text(json.dumps(shown))
    names = [one["name"] for one in shown["categories"]]
    data = CocoDataset(
        ann_file=str(tmp_path / "shown.json"),
        data_prefix={"img": ""},
        metainfo={"classes": names},
        pipeline=[],
    )
    (instance,) = data[0]["instances"]
    assert instance["bbox"] == [100, 80, 140, 110] and instance["bbox_label"] == 0
    assert len(instance["mask"][0]) == 8
    for one in shown["annotations"]:
        assert one.keys() >= {"id", "image_id", "category_id", "iscrowd", "area", "bbox"}


def test_folders_and_files_may_keep_their_names(root, clone, tiny_scenes):
    text = page(root, "detection")
    (clone / "toys.py").write_text(dict(steps(text))["toys.py"])
    own = FENCE.findall(text.partition("## Your own")[2])[0][2]
    (clone / "mine.py").write_text(own)
    cfg = read_config("mine.py")
    (clone / "data/mine").mkdir(parents=True)
    shutil.copytree(tiny_scenes / "train2017", clone / "data/mine/photos")
    for split, name in (("train", "train"), ("val", "val")):
        source = tiny_scenes / f"annotations/instances_{split}2017.json"
        shutil.copy(source, clone / f"data/mine/{name}.json")
    require_data(cfg, ["train", "val", "test"])
    assert Path(cfg.val_evaluator.ann_file).is_file()
    assert cfg.test_evaluator.ann_file == cfg.val_evaluator.ann_file
    assert cfg.train_dataloader.dataset.metainfo.classes[3] == "kite"


def test_labels_may_have_other_endings_and_folders(root, tmp_path):
    """The settings that the page names are the data set's own."""
    from mmseg.datasets import BaseSegDataset

    text = page(root, "segmentation").partition("## Your own")[2]
    settings = {}
    for code in re.findall(r"`(\w+=(?:\"[^`]+\"|dict\([^`]+\)))`", text):
        exec(code, settings)
    settings.pop("__builtins__")
    assert settings.keys() == {"img_suffix", "seg_map_suffix", "data_prefix"}
    for folder, file in (("photos", "a.png"), ("labels", "a_labels.png")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).touch()
    data = BaseSegDataset(data_root=str(tmp_path), pipeline=[], lazy_init=False, **settings)
    assert Path(data[0]["img_path"]).name == "a.png"
    assert Path(data[0]["seg_map_path"]).name == "a_labels.png"


def test_migrating_from_timm_prints_what_stands_below(root, capsys):
    text = (root / "docs/migrating.md").read_text(encoding="utf-8")
    codes = FENCE.findall(text)
    place = next(n for n, (_, language, _) in enumerate(codes) if language == "python")
    exec(codes[place][2], {})
    assert capsys.readouterr().out == codes[place + 1][2]


def test_the_official_names_stand_in_the_table_of_arguments(root):
    from swin_mm.backbones.arguments import OFFICIAL_NAMES

    text = (root / "docs/migrating.md").read_text(encoding="utf-8")
    for official, ours in OFFICIAL_NAMES.items():
        assert f"| `{ours}` | `{official}` |" in text


def test_architecture_has_a_row_for_every_room_and_the_sizes_of_a_forward_pass(root):
    import torch

    from swin_mm import SwinTransformer

    text = (root / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {file.parent.name for file in (root / "swin_mm").glob("*/__init__.py")}
    rooms |= {file.stem for file in (root / "swin_mm").glob("[!_]*.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == rooms
    network = SwinTransformer(embed_dims=12, num_heads=(1, 1, 1, 1), depths=(1, 1, 1, 1)).eval()
    maps = network(torch.rand(1, 3, 480, 651))
    for number, one in enumerate(maps):
        _, channels, height, width = one.shape  # an eighth of Swin-T's channels
        assert f"norm{number} -> (B, {8 * channels}, {height}, {width})" in text
        assert f"(B, {height}, {width}, {8 * channels})" in text
