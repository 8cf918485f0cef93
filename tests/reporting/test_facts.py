"""A run in a few figures."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from mmengine.config import Config

from swin_mm.reporting.facts import (
    duration,
    environment_of,
    planned_iterations,
    results_of,
    speed_of,
    state_of,
)
from swin_mm.reporting.logs import RunLog, read_run


def run_of(train: list[dict], validations: tuple = ()) -> RunLog:
    return RunLog((), tuple(train), validations)


@pytest.mark.parametrize(
    ("planned", "says"),
    [
        (40, "Finished: 40 iterations."),
        (45, "Finished: 45 iterations."),  # less than an interval is not logged
        (50, "Stopped, or still running: the last iteration logged is 40 of 50."),
        (0, "Logged up to iteration 40."),
    ],
)
def test_the_state_is_how_far_a_run_came(planned: int, says: str, steps: Callable) -> None:
    assert state_of(run_of(steps(10, 20, 30, 40)), planned) == says


def test_a_run_that_logged_nothing_says_so() -> None:
    assert state_of(run_of([]), 10) == "No iteration was logged."


def test_what_was_left_is_told_as_the_run_did(start: Callable, steps: Callable) -> None:
    lines = ["Epoch(train)  [1][10/50]  lr: 1.0  eta: 0:05:00  time: 3.2"]
    run = read_run(str(start("20260101_000000", steps(10), log=lines)))
    planned = planned_iterations(Config({"train_cfg": {"max_epochs": 3}}), run)
    assert planned == 150
    assert "10 of 150; 0:05:00 were left" in state_of(run, planned)
    assert planned_iterations(Config({"train_cfg": {"max_iters": 7}}), run) == 7
    assert planned_iterations(None, run) == 0


def test_results_are_the_last_validations_in_per_cent() -> None:
    rows = ({"coco/bbox_mAP": 0.1, "step": 1}, {"coco/bbox_mAP": 0.466, "mIoU": 44.51, "step": 2})
    assert results_of(run_of([], rows)) == [("box AP", "46.6"), ("mIoU", "44.5")]
    assert results_of(run_of([])) == []
    assert results_of(run_of([], ({"mIoU": float("nan"), "step": 1},))) == []
    assert results_of(run_of([], ({"coco/bbox_mAP": -1.0, "step": 1},))) == []  # no objects at all


def test_speed_is_the_median_without_the_first_row(steps: Callable) -> None:
    rows = [{**row, "memory": 2000 + row["step"]} for row in steps(1, 2)]
    rows[0]["time"] = 99.0
    facts = dict(speed_of(run_of(rows), Config({"train_dataloader": {"batch_size": 4}})))
    assert facts["iterations a second"] == "2"
    assert facts["pictures a second"] == "8, batches of 4 x 1"
    assert facts["waiting for data"] == "0.1 s an iteration, 20%"
    assert facts["GPU memory, peak"] == "2002 MB"
    assert dict(speed_of(run_of([]), None)) == {"GPU memory, peak": "not logged (no GPU)"}


def test_the_environment_is_what_people_ask_for(start: Callable, steps: Callable) -> None:
    block = "System environment:\n    PyTorch: 2.13.0\n    GCC: 12\n    GPU number: 8\n"
    run = read_run(str(start("20260101_000000", steps(1, 2), environment=block)))
    assert environment_of(run) == [("torch", "2.13.0"), ("processes", "8")]
    facts = dict(speed_of(run, Config({"train_dataloader": {"batch_size": 2}})))
    assert facts["pictures a second"] == "32, batches of 2 x 8"


@pytest.mark.parametrize(
    ("span", "says"),
    [
        (timedelta(days=1, hours=2, minutes=3), "1 d 2 h"),
        (timedelta(minutes=5, seconds=7), "5 min 7 s"),
        (timedelta(), "0 s"),
    ],
)
def test_a_span_is_two_units(span: timedelta, says: str) -> None:
    assert duration(span) == says


def test_times_and_memory_that_are_not_finite_are_left_out(steps: Callable) -> None:
    odd = {"time": float("inf"), "data_time": float("nan"), "memory": float("nan")}
    rows = [{**row, "memory": 7} for row in steps(10, 20)]
    told = speed_of(run_of([*rows, *({**row, **odd} for row in steps(30))]), None)
    assert told == speed_of(run_of(rows), None)
    assert planned_iterations(Config({"train_cfg": {"max_epochs": None}}), run_of(rows)) == 0
