"""The page of a run, from its work dir to HTML."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import cv2
import jinja2
import numpy as np
import pytest
import torch

from swin_mm.engine.errors import RunError, UsageError
from swin_mm.reporting import Wishes, make_page, require_run
from swin_mm.reporting import page as page_room

HOSTILE = '<script>alert("x")<'
COMMANDS = {"predict": "PREDICT", "data": "DATA", "checkpoint": "CHECKPOINT"}
CONFIG = """
default_scope = "mmdet"
model = dict(type="MaskRCNN")
train_cfg = dict(max_iters=40, val_interval=40)
val_dataloader = dict(dataset=dict(type="CocoDataset"))
test_dataloader = dict(dataset=dict(
    type="CocoDataset", data_root={root!r}, ann_file="annotations.json",
    data_prefix=dict(img="pictures"),
    metainfo=dict(classes=('<script>alert("x")<', "dog", "yeti"))))
test_evaluator = dict(type="CocoMetric")
"""


class Outline(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(one == tag for one, _ in self.tags)


@pytest.fixture
def work_dir(start: Callable, steps: Callable) -> Path:
    """A run stopped half way, without validation."""
    return start("20260101_000000", steps(10, 20))


@pytest.fixture
def data(annotations: dict, tmp_path: Path) -> Path:
    """Pictures, one of which has a name as nobody should give it, and their annotations."""
    folder = tmp_path / "data"
    (folder / "pictures").mkdir(parents=True)
    annotations["images"][0]["file_name"] = f"{HOSTILE}.jpg"
    annotations["categories"][0]["name"] = HOSTILE
    (folder / "annotations.json").write_text(json.dumps(annotations))
    for image in annotations["images"]:
        _, jpeg = cv2.imencode(".jpg", np.full((50, 100, 3), 90, np.uint8))
        (folder / "pictures" / image["file_name"]).write_bytes(jpeg.tobytes())
    return folder


@pytest.fixture
def found(find: Callable, tmp_path: Path) -> str:
    path = tmp_path / "found.json"
    path.write_text(json.dumps([find(1, 3, 10), find(2, 3, 10)]))
    return str(path)


def test_a_run_stopped_half_way_says_what_is_missing_and_why(work_dir: Path) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    page = Outline(make_page(str(work_dir), Wishes(commands=COMMANDS)))
    assert "the last iteration logged is 20 of 40" in page.text
    assert "it came to no validation, one is due every 40 iterations" in page.text
    assert f"There is no checkpoint in {work_dir}." in page.text
    assert "CHECKPOINT" in page.text
    assert "No config of this name was found" in page.text
    assert "no .log file" in page.text
    assert page.count("svg") == 3


def test_without_predictions_the_page_says_how_to_get_them(work_dir: Path) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    page = Outline(make_page(str(work_dir), Wishes(predict=False, commands=COMMANDS)))
    assert "It was asked for without." in page.text
    assert "PREDICT" in page.text
    assert page.count("img") == 0


def test_a_run_without_a_config_still_has_its_curves(work_dir: Path) -> None:
    page = Outline(make_page(str(work_dir), Wishes()))
    assert "Predictions need the run's config" in page.text
    assert page.count("svg") == 3


def test_a_run_that_logged_nothing_has_a_page(start: Callable) -> None:
    page = Outline(make_page(str(start("20260101_000000", [])), Wishes()))
    assert "No iteration was logged." in page.text
    assert page.count("svg") == 0


def test_names_of_classes_and_files_are_text(work_dir: Path, data: Path, found: str) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root=str(data)))
    html = make_page(str(work_dir), Wishes(predictions=found))
    page = Outline(html)
    assert page.count("script") == 1
    assert "alert(&#34;x&#34;)" in html
    assert 'alert("x")' not in html
    assert page.text.count(HOSTILE) > 4


def test_predictions_bring_tables_confusions_and_pictures(
    work_dir: Path, data: Path, found: str
) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    wishes = Wishes(predictions=found, data_root=str(data), samples=12)
    html = make_page(str(work_dir), wishes)
    page = Outline(html)
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    assert [one["alt"].partition(" of ")[0] for one in images] == ["truth", "prediction"] * 2
    assert all(one["src"].startswith("data:image/jpeg;base64,") for one in images)
    sides = [attributes for _, attributes in page.tags if attributes.get("class") == "side"]
    assert len(sides) == 4 and html.count('<div class="side">prediction</div>') == 2
    assert "Boxes" in page.text
    assert "Most frequent" in page.text
    assert "1 class of 3 without a figure" in page.text
    assert '<td data-value="-1">\N{EN DASH}</td>' in html  # of sizes that the data has not
    assert ">nan<" not in html
    one = make_page(str(work_dir), Wishes(predictions=found, data_root=str(data), samples=1))
    assert Outline(one).count("img") == 2


@pytest.mark.parametrize("error", [OSError(28, "No space left"), RunError("No space left")])
def test_a_test_that_fails_costs_no_page(
    error: Exception, work_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    monkeypatch.setattr(page_room, "last_checkpoint", lambda *_, **__: "iter_20.pth")
    monkeypatch.setattr(page_room, "predict", fail)
    page = Outline(make_page(str(work_dir), Wishes(commands=COMMANDS)))
    assert "No space left" in page.text and page.count("svg") == 3


def test_a_checkpoint_that_wants_to_run_code_costs_no_page(
    work_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(config: str, checkpoint: str, **_: object) -> None:
        raise RunError(f"tested {checkpoint}")

    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    saved = {"meta": {"iter": 20}, "message_hub": {}, "state_dict": {}, "odd": Path("odd")}
    torch.save(saved, work_dir / "iter_20.pth")
    monkeypatch.setattr(page_room, "predict", fail)
    page = Outline(make_page(str(work_dir), Wishes()))
    assert "wants to call pathlib" in page.text and "read it with --unsafe" in page.text
    page = Outline(make_page(str(work_dir), Wishes(unsafe=True)))
    assert f"Tested {work_dir / 'iter_20.pth'}" in page.text


def test_pictures_that_are_gone_are_left_out(work_dir: Path, data: Path, found: str) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root=str(data)))
    for path in (data / "pictures").iterdir():
        path.write_text("no picture")
    page = Outline(make_page(str(work_dir), Wishes(predictions=found)))
    assert "Not shown: " in page.text and "2.jpg cannot be read" in page.text


def test_a_picture_of_another_size_than_its_annotations_is_named(
    work_dir: Path, data: Path, found: str
) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root=str(data)))
    turned = np.full((100, 50, 3), 90, np.uint8)  # as OpenCV reads it by its EXIF orientation
    cv2.imwrite(str(data / "pictures" / "2.jpg"), turned)
    page = Outline(make_page(str(work_dir), Wishes(predictions=found)))
    assert "Not shown: 2.jpg is 50x100 px, its annotations are of 100x50." in page.text
    assert page.count("img") == 2


def test_what_was_asked_for_by_name_must_be_there(work_dir: Path, found: str) -> None:
    with pytest.raises(UsageError, match="need the run's config"):
        make_page(str(work_dir), Wishes(predictions=found))
    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    with pytest.raises(UsageError, match="no test data at nowhere"):
        make_page(str(work_dir), Wishes(predictions=found))
    with pytest.raises(UsageError, match="to predict with"):
        make_page(str(work_dir), Wishes(data_root="anywhere"))


def test_the_config_is_compared_with_the_one_of_its_name(work_dir: Path, tmp_path: Path) -> None:
    (work_dir / "net.py").write_text(CONFIG.format(root="nowhere"))
    (tmp_path / "net.py").write_text(CONFIG.format(root="nowhere").replace("40", "80"))
    page = Outline(make_page(str(work_dir), Wishes(), configs=[str(tmp_path)]))
    assert f"2 settings changed against {tmp_path / 'net.py'}:" in page.text
    assert "train_cfg.max_iters" in page.text


def test_what_the_template_is_not_given_is_an_error_and_no_gap() -> None:
    with pytest.raises(jinja2.UndefinedError):
        page_room._template().environment.from_string("{{ titel }}").render(title="run")


def test_the_page_asks_nothing_of_anybody(work_dir: Path) -> None:
    page = Outline(make_page(str(work_dir), Wishes()))
    asked = [
        attributes[name]
        for _, attributes in page.tags
        for name in ("src", "href")
        if name in attributes and not attributes[name].startswith(("#", "data:"))
    ]
    assert asked == []


def test_a_folder_without_a_run_is_an_error_that_names_those_with_one(
    work_dir: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no run of MMEngine's began in"):
        require_run(str(tmp_path / "run" / "20260101_000000" / "vis_data"))
    with pytest.raises(UsageError, match=f"There are runs in: {work_dir}"):
        require_run(str(tmp_path))
    with pytest.raises(UsageError, match="there is no work dir"):
        require_run(str(tmp_path / "nowhere"))
    require_run(str(work_dir))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("it is gone\nlook there", "it is gone"),
        (
            "it does not fit, for one:\n  8 channels, not 4\nmore",
            "it does not fit, for one: 8 channels, not 4",
        ),
        ("pass unsafe=True", "pass --unsafe"),
    ],
)
def test_a_page_tells_the_reason_and_not_only_that_there_is_one(error: str, told: str) -> None:
    assert page_room._reason_of(UsageError(error)) == told
