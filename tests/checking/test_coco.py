"""Every record of an annotation file keeps MMDetection's rules, or is named by its id."""

import copy
import gc
import json
import math

import pytest

from swin_mm.checking.coco import Format, read_coco
from swin_mm.checking.faults import Findings
from swin_mm.checking.tasks import Wishes

POLYGON = [10, 10, 30, 10, 30, 30]
SOUND = {
    "images": [{"id": n, "file_name": f"{n}.jpg", "width": 64, "height": 48} for n in (1, 2, 3)],
    "annotations": [
        {"id": n, "image_id": n, "category_id": 7, "iscrowd": 0, "area": 9.0,
         "bbox": [1, 2, 30, 40], "segmentation": [POLYGON]}
        for n in (1, 2)
    ],
    "categories": [{"id": 7, "name": "cat"}, {"id": 8, "name": "dog"}],
}  # fmt: skip


def read(folder, content, *, classes=("cat", "dog"), masks=True, scored=False, wishes=None):
    """Read a file; return its faults as (rule, record, met), and the images."""
    path = folder / "file.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    findings = Findings(("train",), str(path))
    form = Format(str(path), classes, masks, scored)
    images, names = read_coco(form, findings, wishes or Wishes())
    faults = [fault for group in findings.groups() for fault in group.first]
    assert all(fault.file == str(path) for fault in faults)
    return [(fault.rule, fault.record, fault.met) for fault in faults], images, names


def changed(where, place, **entries):
    content = copy.deepcopy(SOUND)
    record = content[where][place]
    record.update(entries)
    content[where][place] = {key: value for key, value in record.items() if value != "absent"}
    return content


def test_a_sound_file_has_no_fault_and_gives_its_images(tmp_path):
    faults, images, names = read(tmp_path, SOUND, scored=True)
    assert faults == []
    assert names == ["1.jpg", "2.jpg", "3.jpg"]
    assert (images[0].record, images[0].size) == ("image 1", (64, 48))
    assert images[0].masks == [(1, [POLYGON])] and images[2].masks == []


@pytest.mark.parametrize(
    ("content", "met"),
    [
        ("", "0 bytes"),
        ('{"images": [', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\x00\x01", "not JSON"),
        ("[]", "a list, where COCO has an object"),
        ('{"images": [], "categories": {}}', "no list of annotations, categories"),
    ],
)
def test_what_is_no_coco_is_unreadable(tmp_path, content, met):
    ((rule, _, told),), images, _ = read(tmp_path, content)
    assert rule == "annotations-unreadable" and met in told and images == []


def test_a_file_that_is_not_there_is_missing(tmp_path):
    findings = Findings(("train",), "")
    read_coco(Format(str(tmp_path / "none.json"), ()), findings, Wishes())
    assert findings.groups()[0].rule.name == "annotations-missing"


def test_a_file_without_images_is_empty(tmp_path):
    faults, _, _ = read(tmp_path, {"images": [], "annotations": [], "categories": []}, classes=())
    assert [rule for rule, _, _ in faults] == ["pictures-none"]


@pytest.mark.parametrize(
    ("where", "entries", "rule", "record"),
    [
        ("images", {"width": "absent"}, "record-incomplete", "image 2"),
        ("images", {"width": 0}, "record-incomplete", "image 2"),
        ("images", {"height": math.nan}, "record-incomplete", "image 2"),
        ("images", {"height": "48"}, "record-incomplete", "image 2"),
        ("images", {"file_name": 5}, "record-incomplete", "image 2"),
        ("images", {"id": "absent"}, "record-incomplete", "images[1]"),
        ("images", {"id": 1}, "image-id-twice", "image 1"),
        ("images", {"file_name": "1.jpg"}, "file-twice", "1.jpg"),
        ("categories", {"id": 7}, "category-id-twice", "category 7"),
        ("categories", {"name": "absent"}, "record-incomplete", "category 8"),
        ("annotations", {"id": 1}, "annotation-id-twice", "annotation 1 of image 2"),
        ("annotations", {"id": "absent"}, "record-incomplete", "annotations[1]"),
        ("annotations", {"id": [1]}, "record-incomplete", "annotation [1]"),
        ("annotations", {"image_id": "absent"}, "record-incomplete", "annotation 2"),
        ("annotations", {"image_id": 99}, "picture-unknown", "annotation 2 of image 99"),
        ("annotations", {"category_id": 99}, "category-unknown", "annotation 2 of image 2"),
        ("annotations", {"area": "absent"}, "record-incomplete", "annotation 2"),
        ("annotations", {"area": None}, "record-incomplete", "annotation 2"),
        ("annotations", {"area": 0}, "box-empty", "annotation 2 of image 2"),
        ("annotations", {"area": math.inf}, "number-not-finite", "annotation 2 of image 2"),
        ("annotations", {"bbox": "absent"}, "record-incomplete", "annotation 2"),
        ("annotations", {"bbox": [1, 2, 3]}, "record-incomplete", "annotation 2"),
        ("annotations", {"bbox": "1234"}, "record-incomplete", "annotation 2"),
        ("annotations", {"bbox": [1, 2, math.nan, 4]}, "number-not-finite", "annotation 2 of "),
        ("annotations", {"bbox": [1, 2, 0.5, 4]}, "box-empty", "annotation 2 of image 2"),
        ("annotations", {"bbox": [1, 2, 4, -4]}, "box-empty", "annotation 2 of image 2"),
        ("annotations", {"bbox": [64, 2, 4, 4]}, "box-outside", "annotation 2 of image 2"),
        ("annotations", {"bbox": [-9, 2, 4, 4]}, "box-outside", "annotation 2 of image 2"),
        ("annotations", {"bbox": [1, 2, 65, 4]}, "box-beyond", "annotation 2 of image 2"),
        ("annotations", {"bbox": [1, -2, 4, 4]}, "box-beyond", "annotation 2 of image 2"),
        ("annotations", {"segmentation": []}, "mask-missing", "annotation 2 of image 2"),
        ("annotations", {"segmentation": "absent"}, "mask-missing", "annotation 2 of image 2"),
        ("annotations", {"segmentation": POLYGON}, "record-incomplete", "annotation 2"),
        ("annotations", {"segmentation": [[1, 2]]}, "polygon-short", "annotation 2 of image 2"),
    ],
)  # fmt: skip
def test_a_record_that_breaks_a_rule_is_named(tmp_path, where, entries, rule, record):
    content = changed(where, 1, **entries)
    classes = ("cat",) if where == "categories" else ("cat", "dog")
    faults, _, _ = read(tmp_path, content, classes=classes)
    faults = [fault for fault in faults if fault[0] != "picture-unknown" or rule == fault[0]]
    ((found, told, _),) = faults
    assert found == rule and told.startswith(record)


def test_a_record_that_is_none_is_named_by_its_place(tmp_path):
    content = copy.deepcopy(SOUND)
    content["annotations"].append(5)
    faults, _, _ = read(tmp_path, content)
    assert faults == [("record-incomplete", "annotations[2]", "a int")]


def test_an_id_is_taken_whatever_else_is_wrong_with_its_annotation(tmp_path):
    content = changed("annotations", 0, area=0)
    content["annotations"][1]["id"] = 1
    faults, _, _ = read(tmp_path, content)
    assert {rule for rule, _, _ in faults} == {"box-empty", "annotation-id-twice"}


def test_a_long_record_is_shown_without_its_outlines_and_not_to_its_end(tmp_path):
    content = changed("annotations", 0, bbox=[1, 2, 3], note="x" * 500)
    ((_, _, met),), _, _ = read(tmp_path, content)
    assert "'bbox': [1, 2, 3]" in met and "segmentation" not in met and len(met) < 300


def test_of_many_categories_the_first_are_named(tmp_path):
    content = {**SOUND, "annotations": []}
    content["categories"] = [{"id": n, "name": f"kind {n}"} for n in range(9)]
    faults, _, _ = read(tmp_path, content, classes=("cow", *(f"kind {n}" for n in range(9))))
    ((rule, _, met),) = faults
    assert rule == "class-missing"
    assert met.endswith("the file has kind 0, kind 1, kind 2, kind 3, kind 4, ...")


def test_a_file_elsewhere_is_read_by_the_configs_storage(monkeypatch):
    asked = []

    def get(path, backend_args):
        asked.append((path, backend_args))
        return json.dumps(SOUND).encode()

    monkeypatch.setattr("mmengine.fileio.get", get)
    findings, storage = Findings(("train",), ""), {"backend": "petrel"}
    read_coco(Format("s3://a.json", (), storage=storage), findings, Wishes())
    assert asked == [("s3://a.json", storage)] and findings.pictures == 3


@pytest.mark.parametrize("box", [[-1, 2, 30, 40], [1, 2, 64, 4], [63.5, 2, 1.5, 4]])
def test_a_box_may_end_a_pixel_beyond(tmp_path, box):
    assert read(tmp_path, changed("annotations", 0, bbox=box))[0] == []


def test_a_metric_wants_to_know_crowds(tmp_path):
    content = changed("annotations", 0, iscrowd="absent")
    assert read(tmp_path, content)[0] == []
    faults, _, _ = read(tmp_path, content, scored=True)
    assert faults == [("record-incomplete", "annotation 1", "it has no iscrowd")]


def test_masks_matter_only_where_they_are_trained(tmp_path):
    content = changed("annotations", 0, segmentation=[])
    assert read(tmp_path, content, masks=False)[0] == []
    assert read(tmp_path, content, classes=("dog",))[0][0][0] == "category-unused"
    content = changed("annotations", 0, segmentation=[], ignore=1)
    faults, images, _ = read(tmp_path, content)
    assert faults == [] and images[0].masks == []


@pytest.mark.parametrize(
    ("classes", "rules"),
    [
        ((), []),
        (("cat", "dog"), []),
        (("cat",), ["category-unused"]),
        (("dog", "cat"), ["class-order"]),
        (("cat", "cow", "dog"), ["class-missing"]),
        (("dog", "cow", "cat"), ["class-missing", "class-order"]),
    ],
)
def test_classes_are_compared_with_the_files(tmp_path, classes, rules):
    faults, _, _ = read(tmp_path, SOUND, classes=classes)
    assert [rule for rule, _, _ in faults] == rules


def test_classes_are_counted_as_mmdetection_counts_them(tmp_path):
    """The order that we call wrong is wrong: the label of the first class is the file's first."""
    from mmdet.datasets import CocoDataset

    read(tmp_path, SOUND)
    options = {"ann_file": str(tmp_path / "file.json"), "data_prefix": {"img": ""}}
    dataset = CocoDataset(metainfo={"classes": ("dog", "cat")}, **options)
    assert dataset.metainfo["classes"][dataset[0]["instances"][0]["bbox_label"]] == "dog"


def test_a_sample_keeps_the_masks_of_its_images_and_the_names_of_all(tmp_path):
    _, images, names = read(tmp_path, SOUND, wishes=Wishes(sample=1))
    assert len(images) == 1 and len(names) == 3


@pytest.mark.parametrize("enabled", [True, False])
def test_the_search_for_garbage_is_left_as_it_was(tmp_path, enabled):
    was = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        read(tmp_path, SOUND)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was else gc.disable)()
