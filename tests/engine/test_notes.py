"""What is said before there is a log."""

import logging

import pytest

from swin_mm.engine.notes import Notes, is_first_process


def test_lines_are_printed_at_once_and_logged_later(
    capsys: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    notes = Notes()
    notes.say("fine")
    notes.warn("bad")
    out, err = capsys.readouterr()
    assert out == "fine\n"
    assert "WARNING: bad" in err
    with caplog.at_level(logging.INFO):
        notes.log_to(logging.getLogger("run"))
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("INFO", "fine"),
        ("WARNING", "bad"),
    ]


def test_a_silent_process_prints_nothing(capsys: pytest.CaptureFixture) -> None:
    Notes(speaks=False).warn("bad")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"])
def test_the_first_process_is_known_by_its_launchers_variable(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    assert not is_first_process("slurm")
    assert is_first_process("none")
    monkeypatch.setenv(variable, "0")
    assert is_first_process("slurm")
