"""Each kind of data set has its survey; what only its own class reads is listed by that class."""

import json
from types import SimpleNamespace

import pytest

from swin_mm.checking.coco import Format
from swin_mm.checking.sources import Source
from swin_mm.checking.survey import plan_survey, survey_coco, survey_other
from swin_mm.checking.tasks import Wishes


class Own:
    """Three pictures, as MMEngine's data sets tell of them."""

    ann_file, data_prefix = "own.txt", {}

    def __init__(self, count=3):
        self.count = count

    def full_init(self):
        if self.count is None:
            raise ValueError("line 7 has no comma")

    def __len__(self):
        return self.count

    def get_data_info(self, place):
        size = {"width": 64, "height": 48} if place else {}
        return {"img_path": f"{place}.jpg", "sample_idx": place, **size}


def surveyed(count, wishes=None):
    return survey_other(Source(("val",), "Own", Own(count), "other"), wishes or Wishes())


def test_its_pictures_are_listed_with_what_is_known_of_them():
    survey = surveyed(3)
    assert [(task.path, task.record, task.size) for task in survey.tasks] == [
        ("0.jpg", "picture 0", None),
        ("1.jpg", "picture 1", (64, 48)),
        ("2.jpg", "picture 2", (64, 48)),
    ]
    assert survey.findings.pictures == 3 and survey.findings.groups() == []
    assert len(surveyed(3, Wishes(sample=2)).tasks) == 2


@pytest.mark.parametrize(
    ("count", "rule", "met"),
    [
        (0, "pictures-none", "it is empty"),
        (None, "annotations-unreadable", "Own stops with ValueError: line 7 has no comma"),
    ],
)
def test_what_it_cannot_read_is_a_fault(count, rule, met):
    (group,) = surveyed(count).findings.groups()
    assert group.rule.name == rule and group.first[0].met == met


def test_each_kind_has_its_survey():
    work, (source,) = plan_survey(Source(("val",), "Own", Own(), "other"))
    assert work is survey_other and source.splits == ("val",)


def test_what_a_coco_data_set_says_of_itself_is_heeded():
    dataset = SimpleNamespace(
        ann_file="a.json",
        data_prefix={"img": "pictures"},
        metainfo={"classes": ("cat",)},
        test_mode=True,
        backend_args={"backend": "petrel"},
    )
    heads = {"model.bbox_head.num_classes": 1}
    source = Source(("val",), "CocoDataset", dataset, "coco", masks=True, heads=heads)
    work, given = plan_survey(source)
    form = Format("a.json", ("cat",), masks=True, scored=True, storage={"backend": "petrel"})
    assert work is survey_coco and given == (form, "pictures", ("val",), heads)


def test_a_data_set_of_an_unknown_class_is_said_not_to_be_checked():
    work, given = plan_survey(Source(("train",), "Mine", None, "unknown"))
    survey = work(*given, Wishes())
    (group,) = survey.findings.groups()
    assert (group.rule.name, group.first[0].file) == ("class-unknown", "Mine")
    assert survey.tasks == []


def test_what_has_no_single_picture_is_not_looked_at():
    class Videos(Own):
        def get_data_info(self, place):
            paths = ["a.jpg", "b.jpg"] if place else "c.jpg"
            return {"img_path": paths, "sample_idx": place}

    survey = survey_other(Source(("val",), "Videos", Videos(), "other"), Wishes())
    assert [task.path for task in survey.tasks] == ["c.jpg"]
    assert survey.findings.pictures == 3


@pytest.mark.parametrize(
    ("sample", "storage", "missing", "tasks"),
    [(9, None, 2, ["1.jpg"]), (None, None, 0, ["1.jpg", "2.jpg", "3.jpg"]),
     (9, {"backend": "local"}, 0, ["1.jpg", "2.jpg", "3.jpg"])],
)  # fmt: skip
def test_a_sample_names_all_missing_files_and_looks_at_none_of_them(
    tmp_path, sample, storage, missing, tasks
):
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 8, "height": 8} for n in (1, 2, 3)]
    content = {"images": images, "annotations": [], "categories": []}
    (tmp_path / "a.json").write_text(json.dumps(content))
    (tmp_path / "1.jpg").touch()
    form = Format(str(tmp_path / "a.json"), (), storage=storage)
    survey = survey_coco(form, str(tmp_path), ("train",), {}, Wishes(sample=sample))
    faults = [fault for group in survey.findings.groups() for fault in group.first]
    assert [fault.rule for fault in faults] == ["file-missing"] * missing
    assert [task.path for task in survey.tasks] == [str(tmp_path / name) for name in tasks]
