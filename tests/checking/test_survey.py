"""A data set that only its own class reads is listed by that class."""

import pytest

from swin_mm.checking.sources import Source
from swin_mm.checking.survey import plan_survey, survey_other
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
