"""Work is shared by processes, and one that dies is known by what it did."""

import os
import time
from concurrent.futures.process import BrokenProcessPool

import cv2
import numpy as np
import pytest

from swin_mm.checking.jobs import Crew, count_workers


def double(number):
    if number in (33, 500):
        os._exit(1)  # as a decoder that writes where it must not
    return 2 * number


def shout(number):
    os.write(2, b"a decoder complains")
    return number


def fail(number):
    raise ValueError(number)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_every_piece_is_done_once(workers):
    with Crew(workers) as crew:
        assert sorted(crew.each(double, range(30))) == [(n, 2 * n) for n in range(30)]
        assert list(crew.each(double, [])) == []
        assert crew.start(double, 4).result() == 8


def test_the_pieces_that_kill_are_named_and_the_others_done():
    numbers = [*range(200), 500, 501]
    with Crew(2) as crew:
        done = dict(crew.each(double, numbers))
        assert crew.start(double, 4).result() == 8
    assert {number for number, result in done.items() if result is None} == {33, 500}
    assert all(done[number] == 2 * number for number in numbers if number not in (33, 500))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_mistake_is_raised_where_its_result_is_asked_for(workers):
    with Crew(workers) as crew:
        future = crew.start(fail, 7)
        with pytest.raises(ValueError, match="7"):
            future.result()


def test_there_are_as_many_workers_as_wished_or_cores():
    assert count_workers(0) == 0 and count_workers(5) == 5
    assert 1 <= count_workers(None) <= 16


def test_a_machine_of_many_cores_gets_sixteen(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64))
    assert count_workers(None) == 16
    monkeypatch.delattr(os, "sched_getaffinity")  # as on a Mac
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert count_workers(None) == 3


def test_a_crew_that_is_dead_when_the_work_comes_is_replaced():
    with Crew(1) as crew:
        with pytest.raises(BrokenProcessPool):
            crew.start(double, 33).result()
        assert dict(crew.each(double, range(100, 200))) == {n: 2 * n for n in range(100, 200)}


def test_decoders_complain_to_nobody(capfd):
    with Crew(1) as crew:
        assert dict(crew.each(shout, [1])) == {1: 1}
    assert capfd.readouterr().err == ""


def test_who_leaves_early_waits_for_what_is_at_work_alone():
    with Crew(1) as crew:
        futures = [crew.start(time.sleep, 0.05) for _ in range(9)]
    assert futures[-1].cancelled()


def count_threads():
    return cv2.getNumThreads()


def test_threads_that_opencv_has_begun_hold_up_no_process():
    before = cv2.getNumThreads()
    cv2.setNumThreads(3)
    try:
        cv2.blur(np.zeros((2000, 2000, 3), np.uint8), (9, 9))  # begins them
        with Crew(1) as crew:
            assert crew.start(count_threads).result(timeout=60) == 1
        assert cv2.getNumThreads() == 3
    finally:
        cv2.setNumThreads(before)
