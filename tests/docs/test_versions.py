"""README says with which versions the suite ran, and how it ended: what was recorded."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PINS = {"maintained": "openmmlab.txt", "original": "apart/upstream.txt"}
REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite>
<testcase name="a"/>
<testcase name="b"><failure message="no"/></testcase>
<testcase name="c"><error message="no"/></testcase>
<testcase name="d"><skipped type="pytest.skip" message="needs a card"/></testcase>
<testcase name="e"><skipped type="pytest.skip" message="/home/me/x.pth is not there"/></testcase>
<testcase name="f"/><testcase name="g"/>
</testsuite></testsuites>
"""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """Load the script."""
    spec = importlib.util.spec_from_file_location("print_versions", ROOT / "docs/print_versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(script: ModuleType, monkeypatch, capsys):
    """Run the script as a user does, return how it ended and all that it said."""

    def called(*words: object) -> tuple[int | str, str]:
        monkeypatch.setattr(sys, "argv", ["docs/print_versions.py", *map(str, words)])
        try:
            code = script.main()
        except SystemExit as stop:
            return str(stop.code), ""
        return code, capsys.readouterr().out

    return called


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "report.xml"
    file.write_text(REPORT)
    return file


def test_readme_holds_what_was_recorded(script):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page.count("<!-- versions -->") == 2
    table = script.versions_table(script.read_runs(script.FILE))
    assert script.filled(page, table) == page, "python docs/print_versions.py --write"


@pytest.mark.parametrize("stack", PINS)
def test_what_was_recorded_ran_with_the_pinned_versions(script, stack):
    run = script.read_runs(script.FILE)[stack]
    texts = [(ROOT / "requirements" / name).read_text() for name in ("build.txt", PINS[stack])]
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)", "\n".join(texts), re.M))
    for library, said in run["packages"].items():
        name, _, version = said.rpartition(" ")
        assert version.partition("+")[0] == pins[name or library], said
        assert name.startswith("onedl-") == (stack == "maintained" and library.startswith("mm"))


@pytest.mark.parametrize("stack", PINS)
def test_what_was_recorded_passed_and_every_skip_says_why(script, stack):
    run = script.read_runs(script.FILE)[stack]
    assert run["tests"]["failed"] == 0 and run["tests"]["passed"] > 1000
    assert sum(run["skips"].values()) == run["tests"]["skipped"]
    assert all(len(why) > 10 for why in run["skips"])


@pytest.fixture
def both(script, tmp_path: Path) -> Path:
    """A file with two runs."""
    one = {"python": "3.11.7", "commit": "abc", "operators": "the CPU", "skips": {}}
    one["tests"] = {"passed": 3, "skipped": 2, "failed": 0}
    one["packages"] = dict.fromkeys(script.LIBRARIES, "1.0")
    other = {**one, "commit": "def", "packages": {**one["packages"], "mmcv": "mmcv 2.1.0"}}
    file = tmp_path / "both.json"
    file.write_text(json.dumps({"runs": {"maintained": one, "original": other}}))
    return file


def test_the_table_has_a_column_for_each_stack(script, both):
    table = script.versions_table(script.read_runs(both))
    assert "| MMCV | 1.0 | mmcv 2.1.0 |" in table and "| At commit | abc | def |" in table
    assert "| Tests | 3 passed, 2 skipped, 0 failed |" in table
    assert "Original: `make test-upstream`" in table.splitlines()[0]
    assert len({line.count(" | ") for line in table.splitlines()[2:]}) == 1


def test_a_run_is_recorded_by_the_python_it_ran_in(script, run, report, tmp_path):
    results = tmp_path / "versions.json"
    results.write_text(json.dumps({"runs": {"original": {"kept": 1}, "maintained": {"kept": 1}}}))
    code, said = run("--record", report, "--results", results)
    assert code == 1, "failures are recorded, and told"
    assert "3 passed, 2 skipped, 2 failed" in said
    runs = script.read_runs(results)
    assert list(runs) == ["maintained", "original"]
    (new,) = [name for name, one in runs.items() if "kept" not in one]
    one = runs[new]
    assert (new == "maintained") == one["packages"]["mmengine"].startswith("onedl-")
    assert one["skips"] == {"needs a card": 1, "x.pth is not there": 1}
    assert one["tests"] == {"passed": 3, "skipped": 2, "failed": 2}
    assert one["python"].startswith("3.") and one["operators"] and one["commit"]
    assert not list(tmp_path.glob(".*"))


def test_reports_of_parts_add_up(run, report, tmp_path):
    other = tmp_path / "other.xml"
    other.write_text('<testsuites><testsuite><testcase name="z"/></testsuite></testsuites>')
    _, said = run("--record", report, other, "--results", tmp_path / "new.json")
    assert "4 passed, 2 skipped, 2 failed" in said
    code, said = run("--record", other, "--results", tmp_path / "new.json")
    assert code == 0 and "1 passed, 0 skipped, 0 failed" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [("no xml", "is no report"), ("<testsuites/>", "no test ran"), (None, "is no report")],
)
def test_what_is_no_report_is_not_recorded(run, report, tmp_path, text, words):
    report.write_text(text) if text else report.unlink()
    code, _ = run("--record", report, "--results", tmp_path / "new.json")
    assert words in code and "report.xml" in code and not (tmp_path / "new.json").exists()


def test_mixed_distributions_are_not_recorded(run, report, tmp_path, monkeypatch):
    import swin_mm.doctor.packages as packages

    real = packages.installed()
    theirs = packages.Distribution("mmcv", "2.1.0", "", editable=False)
    ours = packages.Distribution("onedl-mmengine", "0.10.12", "", editable=False)
    mixed = {**real, "mmcv": (theirs,), "mmengine": (ours,)}
    monkeypatch.setattr(packages, "installed", lambda: mixed)
    code, _ = run("--record", report, "--results", tmp_path / "new.json")
    assert "mixed" in code and "onedl-mmengine, mmcv" in code


def test_the_table_is_written_between_its_marks_alone(run, both, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- versions -->\nold\n<!-- versions -->\nafter\n")
    assert run("--write", "--readme", page, "--results", both) == (0, "")
    assert run("--results", both) == (0, page.read_text().split("<!-- versions -->\n")[1])
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")
    assert "old" not in page.read_text()


def test_a_table_of_one_run_alone_is_refused(run, tmp_path):
    results = tmp_path / "versions.json"
    results.write_text('{"runs": {"maintained": {}}}')
    code, said = run("--results", results)
    assert code == 1 and "make test-upstream" in said and "`make test`" not in said
    code, said = run("--results", tmp_path / "nothing.json")
    assert code == 1 and "`make test` and `make test-upstream`" in said
