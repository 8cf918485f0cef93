import pytest

from swin_mm.doctor import diagnosis as module
from swin_mm.doctor.child import Answer
from swin_mm.doctor.diagnosis import examine


@pytest.fixture
def examined(monkeypatch, packages, answers, machine):
    """Examine an environment that a test makes up; return the diagnosis and what was asked."""

    def run(changes=None, there=packages, **options):
        asked = []
        told = answers | (changes or {})
        monkeypatch.setattr(module, "installed", lambda: there)
        monkeypatch.setattr(module, "look", lambda: machine)
        monkeypatch.setattr(module, "ask", lambda name, timeout: told[name])
        diagnosis = examine(tell=asked.append, **options)
        return diagnosis, asked

    return run


def test_all_is_well_where_every_probe_succeeds(examined):
    diagnosis, asked = examined()
    assert diagnosis.well and diagnosis.wanting == ()
    assert len(asked) == len(set(asked)) == len(diagnosis.evidence.answers) + 1


def test_it_says_what_it_does_and_how_far_it_is(examined):
    first, *lines = examined(quick=True)[1]
    assert first.startswith(f"Trying {len(lines)} things")
    numbers = [int(line.partition(" of ")[0]) for line in lines]
    assert sorted(numbers) == list(range(1, len(lines) + 1))
    assert any(line.endswith(f" of {len(lines)}: detector") for line in lines)


def test_a_quick_look_leaves_the_compiler_alone(examined):
    assert ": compile" in "".join(examined()[1])
    assert ": compile" not in "".join(examined(quick=True)[1])


def test_a_toolbox_that_is_installed_must_work(examined, packages):
    broken = {"detector": Answer(False, step="train Mask R-CNN", error="ValueError: 3")}
    diagnosis, _ = examined(broken)
    assert not diagnosis.well
    assert diagnosis.wanting == ("Mask R-CNN and its like (MMDetection)",)
    assert examined(broken, packages | {"mmdet": ()})[0].well


def test_one_toolbox_at_least_must_be_there(examined, packages):
    diagnosis, _ = examined(there=packages | {"mmdet": (), "mmseg": ()})
    assert diagnosis.wanting == ("neither MMDetection nor MMSegmentation is installed",)


def test_without_the_backbone_nothing_is_well(examined):
    missing = Answer(False, step="import swin_mm", error="ImportError", missing="mmengine")
    assert not examined({"backbone": missing})[0].well


def test_every_probe_exists():
    from swin_mm.doctor import probes

    assert all(callable(getattr(probes, name)) for name in (*module.PROBES, "compile", "library"))
