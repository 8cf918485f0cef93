import pytest
from mmengine.config import Config

from swin_mm.data.coco_categories import coco_categories
from swin_mm.inference import classes_of

THREE = {"classes": ("cat", "dog", "newt"), "palette": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}


def config(**dataset):
    return Config({"test_dataloader": {"dataset": dataset}})


def test_what_a_checkpoint_says_comes_before_its_configs_data_set():
    cfg = config(metainfo={"classes": ("a", "b", "c")})
    found = classes_of(cfg, {"dataset_meta": THREE}, count=3, instances=False)
    assert found.names == ("cat", "dog", "newt")
    assert found.colours == ((1, 2, 3), (4, 5, 6), (7, 8, 9))


def test_an_old_checkpoints_capitals_are_understood():
    found = classes_of(config(), {"CLASSES": ["x", "y"]}, count=2, instances=True)
    assert found.names == ("x", "y")


@pytest.mark.parametrize(
    "dataset",
    [{"metainfo": THREE}, {"type": "Repeat", "dataset": {"metainfo": THREE}}],
    ids=["plain", "wrapped"],
)
def test_a_checkpoint_without_names_leaves_them_to_the_config(dataset):
    assert classes_of(config(**dataset), {}, count=3, instances=True).names == THREE["classes"]


def test_a_data_set_is_asked_by_its_type(detector, segmentor):
    assert "zebra" in classes_of(detector.cfg(), {}, count=80, instances=True).names
    assert "chandelier" in classes_of(segmentor.cfg(), {}, count=150, instances=False).names


def test_cocos_classes_bear_cocos_numbers(detector):
    found = classes_of(detector.cfg(), {}, count=80, instances=True)
    numbers = {category["name"]: category["id"] for category in coco_categories()}
    assert dict(zip(found.names, found.ids, strict=True)) == numbers


def test_other_instances_count_from_one_and_pixels_from_zero():
    meta = {"dataset_meta": THREE}
    assert classes_of(config(), meta, count=3, instances=True).ids == (1, 2, 3)
    assert classes_of(config(), meta, count=3, instances=False).ids == (0, 1, 2)


def test_names_of_another_number_are_not_taken(monkeypatch):
    said = []
    monkeypatch.setattr("swin_mm.inference.classes.print_log", lambda text, **_: said.append(text))
    found = classes_of(config(), {"dataset_meta": THREE}, count=2, instances=True)
    assert found.names == ("class 0", "class 1")
    assert "The model has 2 classes, but names are given for 3" in said[0]


def test_classes_without_a_palette_get_colours_of_their_own():
    names = {"classes": [f"kind {number}" for number in range(150)], "palette": "random"}
    colours = classes_of(config(metainfo=names), {}, count=150, instances=True).colours
    assert len(set(colours)) == 150
    assert all(0 <= value <= 255 for colour in colours for value in colour)


def test_a_name_that_is_no_text_can_be_drawn():
    meta = {"dataset_meta": {"classes": ["caf\udce9", 7]}}
    assert classes_of(config(), meta, count=2, instances=True).names == (r"caf\udce9", "7")
