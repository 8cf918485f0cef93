"""`make audit` passes only what was asked for, and answered."""

import json
import os
import re
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

# Stands for pip-audit: answers as `answers.json` beside it says, and keeps what it was asked.
PIP_AUDIT = """
import json, pathlib, re, sys
here = pathlib.Path(__file__).parent
answers = json.loads((here / "answers.json").read_text())
file, out = (sys.argv[sys.argv.index(word) + 1] for word in ("-r", "-o"))
pins = re.findall("(.+)==(.+)", pathlib.Path(file).read_text())
if len(dict(pins)) < len(pins):
    sys.exit("ERROR: duplicate requirements")
with open(here / "asked", "a") as asked:
    asked.write(json.dumps([pins, sys.argv[1:]]) + "\\n")
if "down" in answers:
    sys.exit(answers["down"])
found = []
for name, version in pins:
    answer = answers.get(name, [])
    if isinstance(answer, str):
        found.append({"name": name, "skip_reason": answer})
    elif answer is not None:
        version = answers.get("versions", {}).get(name, version)
        vulns = [{"id": one, "fix_versions": cures} for one, cures in answer]
        found.append({"name": name, "version": version, "vulns": vulns})
pathlib.Path(out).write_text(json.dumps({"dependencies": found, "fixes": []}))
"""


@dataclass(frozen=True)
class Ended:
    """How the audit ended."""

    code: int
    out: str
    err: str


class Service:
    """What stands for pip-audit, and two files of pins."""

    def __init__(self, folder: Path, run: Callable):
        self.folder, self.run = folder, run
        (folder / "pip_audit.py").write_text(PIP_AUDIT)
        self.first, self.second = folder / "first.txt", folder / "second.txt"
        self.first.write_text("# What we pin.\nAddict==2.4.0\nzipp==4.1.2  # a reason\n\n")
        self.second.write_text('pillow==13.0.0 ; python_version >= "3.11"\npillow==12.3.0 ; x\n')

    def audit(self, *words: str, **answers) -> Ended:
        (self.folder / "answers.json").write_text(json.dumps(answers))
        return self.run(str(self.first), str(self.second), *words)

    def asked(self) -> list:
        return [json.loads(line) for line in (self.folder / "asked").read_text().splitlines()]


@pytest.fixture
def service(root, tmp_path, monkeypatch, capsys) -> Service:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    main = runpy.run_path(str(root / "tools/audit.py"))["main"]

    def run(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["tools/audit.py", *words])
        code = main()
        return Ended(code, *capsys.readouterr())

    return Service(tmp_path, run)


def test_all_pins_of_all_pythons_are_asked_for(service):
    ended = service.audit()
    assert ended.code == 0 and not ended.err
    assert "4 of 4 pins audited by pypi, 0 vulnerable" in ended.out
    pins = sorted(tuple(pin) for asked, _ in service.asked() for pin in asked)
    versions = [("pillow", "12.3.0"), ("pillow", "13.0.0"), ("zipp", "4.1.2")]
    assert pins == [("addict", "2.4.0"), *versions]
    assert all("--no-deps" in words and "--disable-pip" in words for _, words in service.asked())


def test_a_vulnerable_pin_fails_with_its_cure(service):
    ended = service.audit(zipp=[["CVE-1", ["4.1.3", "5.0"]], ["CVE-2", []]])
    assert ended.code == 1
    assert "zipp 4.1.2: CVE-1, mended in 4.1.3 or 5.0" in ended.err
    assert "zipp 4.1.2: CVE-2, mended in no version yet" in ended.err
    assert "4 of 4 pins audited by pypi, 1 vulnerable" in ended.out


def test_a_skip_is_not_a_pass(service):
    ended = service.audit(zipp="Dependency not found", pillow=[["CVE-1", []]])
    assert ended.code == 2
    assert "zipp 4.1.2 was not audited: Dependency not found" in ended.err
    assert "CVE-1" in ended.err and "3 of 4 pins audited" in ended.out


def test_a_pin_that_the_answer_leaves_out_was_not_audited(service):
    ended = service.audit(zipp=None)
    assert ended.code == 2 and "zipp 4.1.2 was not audited: pip-audit left it out" in ended.err


def test_an_answer_about_another_version_is_none(service):
    ended = service.audit(versions={"zipp": "4.1.1"})
    assert ended.code == 2 and "zipp 4.1.2 was not audited: pip-audit left it out" in ended.err


def test_a_name_in_two_spellings_is_one_and_asked_for_as_the_answer_writes_it(service):
    service.second.write_text("Ruamel.yaml_clib==0.2.8\nruamel-yaml-clib==0.2.8\n")
    ended = service.audit()
    assert ended.code == 0 and "3 of 3 pins audited" in ended.out
    assert ["ruamel-yaml-clib", "0.2.8"] in service.asked()[-1][0]


def test_an_audit_that_ends_without_a_word_is_told_of_by_its_code(service):
    ended = service.audit(down=3)
    assert ended.code == 2 and "addict 2.4.0 was not audited: pip-audit ended with 3" in ended.err


def test_where_nobody_answers_one_question_is_asked_and_the_reason_told(service):
    ended = service.audit(down="Traceback (most recent call last):\nConnectionError: no such host")
    assert ended.code == 2 and len(service.asked()) == 1
    assert "addict 2.4.0 was not audited: ConnectionError: no such host" in ended.err
    assert "Traceback" not in ended.err and "0 of 4 pins audited" in ended.out


def test_a_service_that_knows_nothing_is_asked_once(service):
    ended = service.audit(addict="Dependency not found")
    assert ended.code == 2 and len(service.asked()) == 1 and "0 of 4 pins" in ended.out


def test_the_service_its_address_and_known_vulnerabilities_reach_pip_audit(service):
    words = ["--service", "osv", "--osv-url", "http://mirror", "--ignore-vuln", "CVE-1"]
    ended = service.audit(*words, "--ignore-vuln", "CVE-2")
    assert "audited by osv" in ended.out
    given = service.asked()[-1][1]
    assert {"--vulnerability-service=osv", "--osv-url=http://mirror"} < set(given)
    assert {"--ignore-vuln=CVE-1", "--ignore-vuln=CVE-2"} < set(given)


def test_without_pip_audit_nothing_passes(service):
    os.remove(service.folder / "pip_audit.py")
    ended = service.audit()
    assert ended.code == 2 and "No module named pip_audit" in ended.err


@pytest.mark.parametrize("line", ["numpy>=2", "numpy", "-r other.txt", "numpy @ file:///x.whl"])
def test_what_is_not_pinned_cannot_be_audited(service, line):
    service.second.write_text(f"pillow==13.0.0\n{line}\n")
    ended = service.audit()
    assert ended.code == 2 and "NAME==VERSION" in ended.err
    assert line in ended.err and "second.txt:2" in ended.err


def test_no_pins_are_no_pass(service):
    for file in (service.first, service.second):
        file.write_text("# nothing\n")
    ended = service.audit()
    assert ended.code == 2 and "there must be a pin" in ended.err
    service.first.unlink()
    assert service.audit().code == 2


def test_every_pin_of_ours_can_be_read_and_is_audited_if_no_file_is_named(root, service):
    tool = runpy.run_path(str(root / "tools/audit.py"))
    files = sorted((root / "requirements").rglob("*.txt"))
    pins = tool["read_pins"](files)
    text = "\n".join(re.sub("(?m)#.*$", "", file.read_text()) for file in files)
    assert len(pins) == len(set(re.findall(r"(\S+==[\w.]+)(?=\s|$)(?!\")", text)))
    names = {name for name, _ in pins}
    assert {"torch", "pip-audit", "onedl-mmcv", "mmcv", "mmengine"} <= names
    (service.folder / "answers.json").write_text("{}")
    assert f"{len(pins)} of {len(pins)} pins audited" in service.run().out
