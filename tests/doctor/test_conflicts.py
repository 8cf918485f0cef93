import dataclasses

import pytest

from swin_mm.doctor.child import Answer
from swin_mm.doctor.conflicts import conflicts, contradictions
from swin_mm.doctor.machine import GIB


def told(packages, machine, answers) -> str:
    return "\n".join(f"{one.what} | {one.cure}" for one in conflicts(packages, machine, answers))


def test_where_all_is_well_nothing_is_said(packages, machine, answers):
    assert told(packages, machine, answers) == ""


def test_two_distributions_that_write_the_same_files(packages, original, machine, answers):
    both = packages | {"mmcv": (*original["mmcv"], *packages["mmcv"])}
    said = told(both, machine, answers)
    assert "mmcv-lite and onedl-mmcv are both installed" in said
    assert "uninstall -y mmcv-lite onedl-mmcv &&" in said
    assert said.endswith("install --no-deps --no-build-isolation onedl-mmcv")


def test_libraries_of_both_families(packages, original, machine, answers):
    mixed = packages | {"mmdet": original["mmdet"]}
    said = told(mixed, machine, answers)
    assert "mmengine, mmcv, mmseg of the maintained distributions beside mmdet" in said


def test_the_original_mmengine_cannot_read_its_checkpoints_with_this_torch(
    original, machine, answers
):
    assert "MMEngine's own loader cannot read its checkpoints" in told(original, machine, answers)


@pytest.mark.parametrize("facts", [{"version": "2.5.1"}, {"weights_only": False}])
def test_a_torch_that_cannot_read_weights_safely(packages, machine, answers, facts):
    old = Answer(True, answers["torch"].facts | facts)
    said = told(packages, machine, answers | {"torch": old})
    assert "swin_mm needs 2.6" in said and 'install --upgrade "torch>=2.6"' in said


@pytest.mark.parametrize("version", ["2.6.0", "2.10.0+cpu", "3.0.0a0+git1234"])
def test_versions_are_compared_as_numbers(packages, machine, answers, version):
    new = Answer(True, answers["torch"].facts | {"version": version})
    assert told(packages, machine, answers | {"torch": new}) == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shared_memory": 64 * 10**6}, "/dev/shm has 64 MB free"),
        ({"disk": 2 * GIB}, "2.0 GiB of disk are free"),
        ({"cores": 2}, "torch uses 8 threads on 2 cores"),
    ],
)
def test_places_that_are_too_small(packages, machine, answers, change, says):
    said = told(packages, dataclasses.replace(machine, **change), answers)
    assert said.startswith(says)
    assert ("export OMP_NUM_THREADS=2" in said) == ("cores" in change)


def test_without_torch_there_is_nothing_to_say_of_it(packages, machine, answers):
    assert told(packages, machine, answers | {"torch": Answer(False, error="no")}) == ""


def test_what_pip_check_says_becomes_commands(packages, machine, answers):
    lines = [
        "opencv-python 4.12.0.88 has requirement numpy<2.3.0,>=2, but you have numpy 2.4.1.",
        "onedl-mmdetection 3.5.1 requires imaug, which is not installed.",
        "something else that pip may say",
    ]
    numpy, imaug = contradictions(lines)
    assert numpy.what == "opencv-python wants numpy<2.3.0,>=2, numpy is 2.4.1"
    assert numpy.cure.endswith('install "numpy<2.3.0,>=2"')
    assert imaug.cure.endswith('install "imaug"')
    check = {"contradictions": Answer(True, {"lines": lines})}
    assert told(packages, machine, answers | check).count("\n") == 1


def test_an_environment_without_pip_is_told_how_to_get_it(packages, machine, answers):
    bare = answers | {"contradictions": Answer(True, {"lines": [], "pip": False})}
    assert "has no pip, which the commands here call | " in told(packages, machine, bare)
    assert told(packages, machine, bare).endswith(" -m ensurepip")
