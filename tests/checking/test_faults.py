"""Faults are counted by rule, and what is lost is judged by how much there is."""

import pytest

from swin_mm.checking.faults import KEPT, Fault, Findings
from swin_mm.checking.rules import Level


def findings_of(rule, count, annotations=0):
    findings = Findings(("train",), "file.json", annotations=annotations)
    findings.add(*(Fault(rule, "file.json", f"annotation {n}", "met") for n in range(count)))
    return findings


def test_a_fault_names_file_record_and_numbers():
    assert str(Fault("box-empty", "a.json", "annotation 5", "0x3 px")) == (
        "a.json: annotation 5: 0x3 px"
    )
    assert str(Fault("file-empty", "a.jpg", "", "0 bytes")) == "a.jpg: 0 bytes"


def test_all_are_counted_and_the_first_are_kept():
    (group,) = findings_of("file-empty", KEPT + 5).groups()
    assert group.count == KEPT + 5 and len(group.first) == KEPT
    assert group.first[0].record == "annotation 0"


@pytest.mark.parametrize(
    ("rule", "count", "annotations", "level"),
    [
        ("file-empty", 1, 10**6, Level.ERROR),
        ("picture-gray", 10**3, 0, Level.NOTE),
        ("box-empty", 1, 0, Level.ERROR),
        ("box-empty", 1, 999, Level.ERROR),
        ("box-empty", 1, 1000, Level.NOTE),
        ("box-empty", 3, 2999, Level.ERROR),
    ],
)
def test_the_level_follows_from_the_rule_and_from_the_share_that_is_lost(
    rule, count, annotations, level
):
    findings = findings_of(rule, count, annotations)
    (group,) = findings.groups()
    assert group.level is level
    errors = count if level is Level.ERROR else 0
    assert (findings.errors, findings.notes) == (errors, count - errors)


def test_errors_come_first():
    findings = findings_of("picture-gray", 1)
    findings.add(Fault("label-beyond", "a.png", "", "9"), Fault("file-empty", "a.jpg", "", "0"))
    names = [group.rule.name for group in findings.groups()]
    assert names == ["file-empty", "label-beyond", "picture-gray"]
    findings = findings_of("box-empty", 9, annotations=1000)
    findings.add(Fault("picture-unknown", "a.json", "", "99"))  # one of a thousand: a note
    assert [group.rule.name for group in findings.groups()] == ["box-empty", "picture-unknown"]
