import json

import pytest

from swin_mm.doctor.abilities import ABILITIES
from swin_mm.doctor.child import Answer
from swin_mm.doctor.conflicts import conflicts
from swin_mm.doctor.diagnosis import Diagnosis
from swin_mm.doctor.report import as_json, as_text


@pytest.fixture
def diagnosed(evidence):
    def run(**parts):
        gathered = evidence(**parts)
        troubles = conflicts(gathered.packages, gathered.machine, gathered.answers)
        findings = tuple(ability.find(gathered) for ability in ABILITIES)
        return Diagnosis(gathered, findings, tuple(troubles))

    return run


@pytest.fixture
def lite(diagnosed, original):
    """The original distributions without operators."""
    error = "ModuleNotFoundError: No module named 'mmcv._ext'"
    answer = Answer(False, step="import mmcv.ops", error=error, missing="mmcv._ext")
    broken = dict.fromkeys(("mmcv", "detector", "deformable"), answer)
    return diagnosed(packages=original, answers=broken)


def test_a_page_says_versions_origin_and_what_works(diagnosed):
    page = as_text(diagnosed())
    assert "mmcv" in page and "onedl-mmcv 1.0" in page and "operators, CPU" in page
    assert "yes Mask R-CNN" in page and "  NO  " not in page
    assert page.endswith("All well: the backbone works, and every toolbox that is installed.")


def test_what_does_not_work_stands_with_its_command_once(lite):
    page = as_text(lite)
    assert "no operators" in page
    assert page.count("  NO  ") == 2
    assert page.count("MMCV_WITH_OPS=1") == 1 and "mend: as above" in page
    assert page.endswith("Not well: Mask R-CNN and its like (MMDetection).")


def test_where_there_is_nothing_the_way_to_everything_is_shown(diagnosed, packages):
    page = as_text(diagnosed(packages=dict.fromkeys(packages, ())))
    assert page.endswith("make setup")
    assert "make setup" not in as_text(diagnosed())


def test_lines_are_at_most_100_columns_but_for_commands(lite, diagnosed, gpu):
    for diagnosis in (lite, diagnosed(answers={"torch": gpu})):
        lines = as_text(diagnosis).splitlines()
        assert [one for one in lines if len(one) > 100 and "mend: " not in one] == []


def test_a_library_that_is_not_there_has_its_line(diagnosed, packages):
    missing = Answer(False, step="import mmdet", error="ModuleNotFoundError", missing="mmdet")
    page = as_text(diagnosed(packages=packages | {"mmdet": ()}, answers={"detector": missing}))
    assert "  mmdet        not installed" in page
    assert "-  mmdet is not" not in page
    page = as_text(diagnosed(packages=packages | {"swin_mm": (), "onnx": ()}))
    assert "not by pip, but it imports" in page
    assert "  onnx " not in page.partition("What works")[0]  # it is optional


def test_a_gpu_has_its_line(diagnosed, gpu):
    page = as_text(diagnosed(answers={"torch": gpu}))
    assert "a card, 80 GiB, capability 9.0" in page and "CUDA 13.0" in page


def test_json_holds_everything(lite):
    told = json.loads(json.dumps(as_json(lite)))
    assert told["well"] is False
    assert told["packages"]["mmcv"][0]["name"] == "mmcv-lite"
    by_name = {one["name"]: one for one in told["abilities"]}
    assert by_name["the backbone"]["works"] is True
    assert "MMCV_WITH_OPS" in by_name["DINO, Mask2Former"]["cure"]
    assert told["probes"]["mmcv"]["missing"] == "mmcv._ext"
    assert any("checkpoints" in one["what"] for one in told["troubles"])
