"""Signals that ask a training to stop."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from swin_mm.engine.stopping import Stopped, StopSignals


@pytest.fixture
def signals() -> Iterator[StopSignals]:
    """Listening, and silent afterwards."""
    one = StopSignals(("SIGTERM", "SIGINT", "SIGUSR1"))
    one.listen()
    yield one
    one.leave()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_signal_is_remembered_until_it_is_asked_for(
    name: str, signals: StopSignals, capfd: pytest.CaptureFixture
) -> None:
    assert signals.agreed() == 0
    os.kill(os.getpid(), signal.Signals[name])
    assert signals.agreed() == signal.Signals[name]
    assert f"{name}: stopping after this iteration" in capfd.readouterr().err


def test_a_second_ctrl_c_stops_at_once(signals: StopSignals) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_sigterm_changes_nothing(signals: StopSignals) -> None:
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGTERM)
    assert signals.agreed() == signal.SIGTERM


def test_signals_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    one = StopSignals(("SIGTERM", "SIGINT"))
    one.listen()
    assert signal.getsignal(signal.SIGTERM) != before[0]
    one.leave()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_outside_the_main_thread_nothing_is_taken_over() -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=StopSignals(("SIGTERM",)).listen)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP", "TERM", 15])
def test_what_cannot_be_caught_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match=f"such as SIGTERM or SIGUSR1, got {name}"):
        StopSignals([name])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_exit_code_is_the_shells(number: int, code: int) -> None:
    assert Stopped(number).code == code
