import re
import runpy
import shlex
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from PIL import Image

from swin_mm import SwinTransformer
from swin_mm.visualization import FIGURES

SMALL = {"embed_dims": 8, "depths": (2, 2, 2, 2), "num_heads": (1, 2, 2, 4), "window_size": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a space, a picture of 96x72 px and the file of a small detector."""
    place = tmp_path_factory.mktemp("my pictures")
    pixels = np.random.default_rng(0).integers(0, 256, (72, 96, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(place / "street.png")
    Image.fromarray(pixels[:50]).save(place / "other.png")
    torch.manual_seed(0)
    state = SwinTransformer(**SMALL).state_dict()
    state = {f"backbone.{name}": value for name, value in state.items()}
    torch.save({"state_dict": {**state, "neck.bias": torch.zeros(2)}}, place / "detector.pth")
    return place


def words_for(figure):
    """What every figure needs, and no more."""
    words = [figure, "--checkpoint", "detector.pth", "--out", f"{figure}.png", "--dpi", "50"]
    if "picture" in FIGURES[figure].options:
        words += ["--picture", "street.png"]
    return words


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_is_drawn_from_a_detectors_file(call, folder, figure):
    ended = call("draw.py", *words_for(figure), cwd=folder)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"{figure}.png: {figure} of Swin of 8 channels, 2-2-2-2 blocks")
    with Image.open(folder / f"{figure}.png") as drawn:
        assert drawn.format == "PNG"
        assert np.asarray(drawn.convert("L")).std() > 10


def test_a_config_names_the_network(call, folder, root):
    words = ["masks", "--config", str(root / "configs/upernet_swin_t.py"), "--size", "64"]
    ended = call("draw.py", *words, "--out", "config.png", cwd=folder)
    assert ended.code == 0
    assert ended.out.startswith("config.png: masks of Swin-T, fresh weights")


def test_drawing_twice_gives_the_same_file(call, folder):
    words = ["attention", "--variant", "tiny", "--weights", "none", "--picture", "street.png"]
    for name in ("one.png", "two.png"):
        assert (
            call("draw.py", *words, "--size", "64", "--dpi", "50", "--out", name, cwd=folder).code
            == 0
        )
    assert (folder / "one.png").read_bytes() == (folder / "two.png").read_bytes()


CHANGES = [
    ("windows", "--stage 1"),
    ("windows", "--size 64"),
    ("windows", "--image-scale 2"),
    ("shift", "--stage 0"),
    ("masks", "--window 3"),
    ("bias", "--stage 1"),
    ("bias", "--block 1"),
    ("bias", "--stage 1 --head 1"),
    ("attention", "--stage 1"),
    ("attention", "--block 0"),
    ("attention", "--head 1"),
    ("attention", "--token 3,60"),
    ("features", "--channels 1,2"),
    ("receptive-field", "--token 3,60"),
    ("receptive-field", "--picture street.png street.png other.png --size 90x70"),
    ("masks", "--dpi 150"),
]


@pytest.fixture(scope="module")
def plain():
    """What was drawn without further options, by figure."""
    return {}


@pytest.mark.parametrize(("figure", "option"), CHANGES, ids=map("{0[0]} {0[1]}".format, CHANGES))
def test_every_option_is_seen(call, folder, plain, figure, option):
    words = [*words_for(figure), "--force"]
    if figure not in plain:
        assert call("draw.py", *words, cwd=folder).code == 0
        plain[figure] = (folder / f"{figure}.png").read_bytes()
    ended = call("draw.py", *words, *option.split(), cwd=folder)
    assert (ended.code, ended.err) == (0, "")
    assert (folder / f"{figure}.png").read_bytes() != plain[figure]


def test_random_inputs_stand_in_for_pictures(call, folder):
    words = ["receptive-field", "--checkpoint", "detector.pth", "--size", "40x32", "--force"]
    files = []
    for samples in ("1", "3"):
        ended = call("draw.py", *words, "--samples", samples, "--out", "field.png", cwd=folder)
        assert ended.code == 0
        files.append((folder / "field.png").read_bytes())
    assert files[0] != files[1]


REFUSED = {
    "an older file": ("masks --variant tiny --out detector.pth", "must end in .png"),
    "no picture": ("windows --variant tiny --out x.png", "name one: --picture FILE"),
    "two pictures": (
        "windows --variant tiny --picture street.png other.png --out x.png",
        "windows takes one --picture, got 2",
    ),
    "two sizes": (
        "receptive-field --weights none --variant tiny --picture street.png other.png --out x.png",
        "pictures must be of one size",
    ),
    "no weights": ("bias --variant tiny --out x.png", "--checkpoint FILE, or none for fresh ones"),
    "no network": ("masks --out x.png", "name a network"),
    "a strange option": (
        "masks --variant tiny --head 1 --out x.png",
        "masks has no --head; it takes --picture, --size, --image-scale, --stage",
    ),
    "two scales": (
        "masks --variant tiny --size 5 --image-scale 2 --out x.png",
        "give --size or --image-scale, not both",
    ),
    "a scale of nothing": ("masks --variant tiny --image-scale 2 --out x.png", "there is none"),
    "two networks": (
        "masks --variant tiny --config configs/a.py --out x.png",
        "give --config or --variant, not both",
    ),
    "a stray version": (
        "masks --checkpoint detector.pth --version 2 --out x.png",
        "--version is that of a --variant",
    ),
    "no such config": ("masks --config nowhere.py --out x.png", "there is no config nowhere.py"),
    "no such file": ("bias --checkpoint nowhere.pth --out x.png", "nowhere.pth"),
    "no such stage": ("bias --variant tiny --weights none --stage 4 --out x.png", "got 4"),
    "a point outside": (
        "attention --checkpoint detector.pth --picture street.png --token 96,0 --out x.png",
        "--token X,Y must lie in the picture: X from 0 to 95, Y from 0 to 71 px, got 96,0",
    ),
    "a word for a point": (
        "attention --checkpoint detector.pth --picture street.png --token a,0 --out x.png",
        "must be X,Y such as 320,200, px, got 'a,0'",
    ),
    "no samples": (
        "receptive-field --checkpoint detector.pth --samples 0 --out x.png",
        "--samples must be 1 or more, got 0",
    ),
    "samples of a picture": (
        "receptive-field --checkpoint detector.pth --picture street.png --samples 2 --out x.png",
        "give it or --picture, not both",
    ),
    "a misspelt figure": ("window --variant tiny --out x.png", "invalid choice"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_ends_with_a_message_and_draws_nothing(call, folder, case):
    words, message = REFUSED[case]
    ended = call("draw.py", *words.split(), cwd=folder)
    assert ended.code == 2
    assert message in ended.err
    assert "Traceback" not in ended.err
    assert not (folder / "x.png").exists()


def test_an_older_picture_is_kept_unless_told(call, folder):
    (folder / "kept.png").write_bytes(b"mine")
    words = ["masks", "--variant", "tiny", "--size", "64", "--out", "kept.png"]
    ended = call("draw.py", *words, cwd=folder)
    assert (ended.code, "pass --force" in ended.err) == (2, True)
    assert (folder / "kept.png").read_bytes() == b"mine"
    assert call("draw.py", *words, "--force", cwd=folder).code == 0


def test_no_block_that_shifts_is_said(call, folder):
    model = "model = dict(backbone=dict(type='swin_mm.SwinTransformer', embed_dims=8, "
    model += "depths=(1, 1), num_heads=(1, 1), strides=(4, 2), out_indices=(0, 1)))\n"
    (folder / "still.py").write_text(model, encoding="utf-8")
    words = ["shift", "--config", "still.py", "--picture", "street.png", "--out", "x.png"]
    ended = call("draw.py", *words, cwd=folder)
    assert ended.code == 2
    assert "no block of stage 1 shifts its windows: it has 1 blocks" in ended.err


def test_a_bare_backbone_is_drawn_without_the_hosts(root, folder, environment):
    code = """
        import importlib.abc, runpy, sys

        class Blocker(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("mmcv", "mmdet", "mmseg"):
                    raise ModuleNotFoundError("blocked: " + name, name=name)

        sys.meta_path.insert(0, Blocker())
        sys.argv = ["draw.py", *"features --checkpoint detector.pth --out bare.png".split(),
                    "--picture", "street.png"]
        runpy.run_path(ROOT, run_name="__main__")
    """
    tool = repr(str(root / "tools/draw.py"))
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code).replace("ROOT", tool)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert (folder / "bare.png").exists()


def commands(root):
    text = (root / "docs/drawing.md").read_text(encoding="utf-8")
    return re.findall(r"^python tools/draw\.py (.+)$", text, re.MULTILINE)


def test_the_page_shows_every_picture_that_its_commands_draw(root):
    text = (root / "docs/drawing.md").read_text(encoding="utf-8")
    drawn = [re.search(r"--out docs/(\S+)", line)[1] for line in commands(root)]
    assert re.findall(r"!\[.+\]\((.+?)\)", text) == drawn
    on_disk = {f"pictures/{path.name}" for path in (root / "docs/pictures").glob("draw_*.png")}
    assert on_disk == {*drawn}
    for name in drawn:
        assert (root / "docs" / name).stat().st_size < 250_000
        with Image.open(root / "docs" / name) as picture:
            assert picture.width == 1400, f"draw {name} again"
    assert {line.split()[0] for line in commands(root)} == {*FIGURES}


def test_every_command_of_the_page_runs(call, root, folder):
    Image.fromarray(np.zeros((240, 320, 3), np.uint8)).save(folder / "scene.png")
    for line in commands(root):
        line = re.sub(r"work_dirs/\S+\.pth", "detector.pth", line)
        line = re.sub(r"data/scenes/\S+\.jpg", "scene.png", line)
        words = shlex.split(re.sub(r"docs/pictures/", "page/", line))
        ended = call("draw.py", *words, "--force", "--dpi", "50", cwd=folder)
        assert (ended.code, ended.err) == (0, ""), line


def test_the_options_that_the_page_names_are_the_tools(root, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["draw.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(root / "tools/draw.py"), run_name="__main__")
    told = capsys.readouterr().out
    text = (root / "docs/drawing.md").read_text(encoding="utf-8")
    assert [one for one in {*re.findall(r"(?<![\w-])--[a-z][\w-]*", text)} if one not in told] == []


def test_a_photograph_is_drawn(call, real_data, folder):
    photograph = next(iter(sorted((real_data / "coco/val2017").glob("*.jpg"))))
    words = ["attention", "--variant", "tiny", "--weights", "none", "--picture", str(photograph)]
    ended = call("draw.py", *words, "--size", "320", "--out", "photograph.png", cwd=folder)
    assert (ended.code, ended.err) == (0, "")
