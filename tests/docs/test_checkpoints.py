"""docs/checkpoints.md says what is so."""

import re
import runpy
from pathlib import Path

import pytest

from swin_mm.checkpoints import TARGETS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/checkpoints.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "docs/print_layouts.py"))


def between(name):
    mark = f"<!-- {name} -->"
    return PAGE.split(mark)[1].strip().splitlines()


def test_the_layouts_are_those_of_the_code(script):
    assert between("layouts") == script["layouts_table"]().splitlines()


def test_the_peers_are_those_that_were_measured(script):
    measured = script["fixtures_table"]().splitlines()
    said = between("peers")
    assert [line.rsplit("|", 2)[0] for line in said] == [
        line.rsplit("|", 2)[0] for line in measured
    ]
    for line in said[2:] + measured[2:]:  # the last digits differ from processor to processor
        difference = line.rsplit("|", 2)[1].strip().removeprefix("< ").replace("none", "0")
        assert float(difference) <= 1e-5, line


def test_every_target_is_named():
    listed = re.search(r"`--to` takes (.+?);", PAGE, re.S)[1]
    assert set(re.findall(r"`([a-z0-9-]+)`", listed)) == set(TARGETS)
