"""The report names counts, the first faults and the cure, for people and for programs."""

import json

from swin_mm.checking.faults import Fault, Findings
from swin_mm.checking.report import format_first, format_summary, print_report, write_json


def some_findings():
    findings = Findings(("val", "test"), "a.json", 2000, 64, 12345)
    findings.add(*(Fault("file-empty", f"{n}.jpg", f"image {n}", "0 bytes") for n in range(1, 9)))
    findings.add(Fault("picture-gray", "[bold]9.jpg", "image 9", "mode L"))
    return findings


def test_people_read_counts_the_first_faults_and_the_cure(capsys):
    print_report([some_findings(), Findings(("train",), "b.json", 3, 3)], shown=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "val/test: a.json",
        "  2,000 pictures, 64 looked at; 12,345 annotations",
        "  error file-empty, 8: a file must hold something",
        "    1.jpg: image 1: 0 bytes",
        "    2.jpg: image 2: 0 bytes",
        "    ... and 6 more",
        "    cure: fetch it again",
        "  note picture-gray, 1: a gray picture is read as three equal channels",
        "    [bold]9.jpg: image 9: mode L",
        "    cure: nothing need be done",
        "",
        "train: b.json",
        "  3 pictures, all looked at",
        "  nothing to report",
        "",
        "8 errors, 1 note",
    ]


def test_programs_read_all_of_it(tmp_path):
    path = tmp_path / "faults.json"
    write_json([some_findings()], str(path))
    content = json.loads(path.read_text())
    assert (content["errors"], content["notes"]) == (8, 1)
    (data,) = content["data_sets"]
    assert data["splits"] == ["val", "test"] and data["looked_at"] == 64
    rule, note = data["rules"]
    assert (rule["rule"], rule["level"], rule["count"]) == ("file-empty", "error", 8)
    assert rule["first"][0] == {
        "rule": "file-empty", "file": "1.jpg", "record": "image 1", "met": "0 bytes",
    }  # fmt: skip
    assert len(rule["first"]) == 8 and rule["cure"] and rule["text"]
    assert note["level"] == "note"
    assert [entry.name for entry in tmp_path.iterdir()] == ["faults.json"]


def test_a_training_is_told_the_first_two_of_a_rule():
    findings = some_findings()
    told = format_first([(findings, findings.groups()[0])])
    assert told.splitlines() == [
        "the data has errors:",
        "  val/test: error file-empty, 8: a file must hold something",
        "    1.jpg: image 1: 0 bytes",
        "    2.jpg: image 2: 0 bytes",
        "    ... and 6 more",
        "    cure: fetch it again",
    ]


def test_a_log_is_told_in_a_line_a_set():
    assert format_summary([some_findings(), Findings(("train",), "b.json", 3, 3)]).splitlines() == [
        "Checked val/test: a.json: 2,000 pictures, 64 looked at; 12,345 annotations; "
        "file-empty 8, picture-gray 1",
        "Checked train: b.json: 3 pictures, all looked at; no fault",
    ]
