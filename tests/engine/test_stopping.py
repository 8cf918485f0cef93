"""Signals that ask a training to stop."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from swin_mm.engine import stopping
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
    told = capfd.readouterr().err
    assert f"{name}: stopping after this iteration" in told
    assert ("again to stop at once" in told) == (name == "SIGINT")


def test_a_second_ctrl_c_stops_at_once(signals: StopSignals) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_signal_of_another_kind_changes_nothing(
    signals: StopSignals, capfd: pytest.CaptureFixture
) -> None:
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGUSR1):
        os.kill(os.getpid(), number)
    assert signals.agreed() == signal.SIGTERM
    assert capfd.readouterr().err.count("stopping") == 1


def test_one_process_alone_waits_for_no_device(
    signals: StopSignals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(stopping, "get_device")
    assert signals.agreed() == 0


def test_who_listens_again_has_heard_nothing(signals: StopSignals) -> None:
    os.kill(os.getpid(), signal.SIGUSR1)
    signals.leave()
    signals.listen()
    assert signals.agreed() == 0


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 of two processes, of which rank 0 has heard SIGTERM."""

    def reduced(asked: torch.Tensor, how: str) -> None:
        assert how == "max"
        asked.clamp_(min=signal.SIGTERM)

    monkeypatch.setattr(stopping, "get_world_size", lambda: 2)
    monkeypatch.setattr(stopping, "get_rank", lambda: 1)
    monkeypatch.setattr(stopping, "all_reduce", reduced)


def test_what_another_process_has_heard_counts_here_too(
    second_of_two: None, signals: StopSignals
) -> None:
    assert signals.agreed() == signal.SIGTERM


def test_of_several_processes_one_speaks_and_none_is_interrupted(
    second_of_two: None, signals: StopSignals, capfd: pytest.CaptureFixture
) -> None:
    for _ in range(2):  # from the terminal, and from torchrun's agent
        os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err == ""


def test_signals_are_given_back_once() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    one = StopSignals(("SIGTERM", "SIGINT"))
    one.listen()
    assert signal.getsignal(signal.SIGTERM) != before[0]
    one.leave()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # somebody else's by now
    one.leave()
    assert signal.signal(signal.SIGTERM, before[0]) is signal.SIG_IGN


def test_outside_the_main_thread_nothing_is_taken_over() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor() as threads:
        threads.submit(StopSignals(("SIGTERM",)).listen).result()
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSTOP", "TERM", 15])
def test_what_cannot_be_caught_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match=f"such as SIGTERM or SIGUSR1, got {name}"):
        StopSignals([name])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_exit_code_is_the_shells(number: int, code: int) -> None:
    assert Stopped(number).code == code
