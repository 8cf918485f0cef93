"""One course out of what several starts of a run logged."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from swin_mm.reporting.logs import RunLog, read_run


def trained(run: RunLog) -> list[float]:
    return [row["step"] for row in run.train]


def test_a_resumed_run_is_one_course_in_which_the_later_start_counts(
    start: Callable, steps: Callable
) -> None:
    start("20260101_000000", [*steps(10, 20), {"mIoU": 1.0, "step": 20}, *steps(30, 40, loss=9.0)])
    folder = start("20260102_000000", [*steps(30, 40), {"mIoU": 2.0, "step": 40}])
    run = read_run(str(folder))
    assert trained(run) == [10, 20, 30, 40]
    assert [row["loss"] for row in run.train] == [1.0] * 4
    assert [(row["step"], row["mIoU"]) for row in run.validations] == [(20, 1.0), (40, 2.0)]
    assert run.remarks == (
        "20260102_000000 went on from before iteration 30: iterations up to 40 were trained "
        "twice, the later course is shown.",
    )


def test_a_run_that_went_on_where_it_stopped_needs_no_remark(
    start: Callable, steps: Callable
) -> None:
    start("20260101_000000", steps(10, 20))
    run = read_run(str(start("20260102_000000", steps(30))))
    assert (trained(run), run.remarks) == ([10, 20, 30], ())


def test_a_start_from_the_beginning_takes_the_place_of_all(
    start: Callable, steps: Callable
) -> None:
    start("20260101_000000", [*steps(10, 20), {"mIoU": 1.0, "step": 20}])
    run = read_run(str(start("20260102_000000", steps(10))))
    assert trained(run) == [10]
    assert run.validations == ()
    assert "began anew" in run.remarks[0]


def test_iterations_logged_twice_count_once(start: Callable, steps: Callable) -> None:
    run = read_run(str(start("20260101_000000", [*steps(10, 20), *steps(20, loss=7.0)])))
    assert [(row["step"], row["loss"]) for row in run.train] == [(10, 1.0), (20, 7.0)]


def test_a_broken_line_is_left_out_and_told(start: Callable, steps: Callable) -> None:
    run = read_run(str(start("20260101_000000", [*steps(10), '{"loss": 1.0, "st'])))
    assert trained(run) == [10]
    assert "1 line of scalars.json could not be read" in run.remarks[0]


def test_losses_that_are_not_finite_are_counted(start: Callable, steps: Callable) -> None:
    rows = [*steps(10), *steps(20, loss=float("nan")), *steps(30, loss=float("inf"))]
    run = read_run(str(start("20260101_000000", rows)))
    assert "not finite at 2 of 3 logged iterations, the first of them 20" in run.remarks[0]


def test_a_validation_counted_in_epochs_lies_at_its_iteration(
    start: Callable, steps: Callable
) -> None:
    rows = [*steps(50), {"mIoU": 1.0, "step": 1}, *steps(150), {"mIoU": 2.0, "step": 2}]
    lines = ["Epoch(train)  [1][ 50/73]  lr: 1.0", "Epoch(train)  [2][ 50/73]  lr: 1.0"]
    run = read_run(str(start("20260101_000000", rows, log=lines)))
    assert run.last_text.epoch_length == 73
    assert [row["step"] for row in run.validations] == [73, 150]  # never before what was trained


def test_a_log_file_tells_the_environment_the_time_and_what_was_left(
    start: Callable, steps: Callable
) -> None:
    lines = ["Iter(train) [10/40]  lr: 1.0  eta: 1 day, 1:01:03  time: 3.2", "Saving"]
    environment = "-----\nSystem environment:\n    PyTorch: 2.13\n    seed: 4\n" + "-" * 60
    run = read_run(str(start("20260101_000000", steps(10), log=lines, environment=environment)))
    text = run.last_text
    assert text.eta == "1 day, 1:01:03"
    assert text.lasted == timedelta(minutes=6)
    assert text.environment.splitlines() == [
        "System environment:",
        "    PyTorch: 2.13",
        "    seed: 4",
    ]


@pytest.mark.parametrize("rows", [[], ['{"loss": 1']])
def test_a_start_without_a_row_is_kept_only_if_it_is_alone(
    rows: list, start: Callable, steps: Callable
) -> None:
    folder = start("20260105_000000", rows)
    assert [one.name for one in read_run(str(folder)).starts] == ["20260105_000000"]
    start("20260101_000000", steps(10))
    assert [one.name for one in read_run(str(folder)).starts] == ["20260101_000000"]


@pytest.mark.parametrize(
    "line",
    [
        '{"loss": 1.0, "lr": 1, "step": Infinity}',
        '{"loss": 1.0, "lr": 1, "step": NaN}',
        '{"loss": 1.0, "lr": 1, "step": -3}',
        '{"loss": 1.0, "lr": 1, "step": 1e300}',
        "[" * 100_000,
    ],
)
def test_a_line_that_no_run_logs_is_left_out(line: str, start: Callable, steps: Callable) -> None:
    run = read_run(str(start("20260101_000000", [*steps(10), f"{line}\n", *steps(20)])))
    assert trained(run) == [10, 20]
    assert "1 line of scalars.json could not be read" in run.remarks[0]


def test_a_value_that_no_float_holds_is_left_out(start: Callable, steps: Callable) -> None:
    (row,) = steps(10)
    run = read_run(str(start("20260101_000000", [{**row, "loss": 10**400, "loss_cls": 2}])))
    assert "loss" not in run.train[0] and run.train[0]["loss_cls"] == 2


def test_a_line_that_two_processes_wrote_into_each_other_has_no_time(
    start: Callable, steps: Callable
) -> None:
    folder = start("20260101_000000", steps(10), log=["a line"])
    log = folder / "20260101_000000" / "20260101_000000.log"
    log.write_text(log.read_text() + "2026/13/41 00:99:00 - mmengine - INFO - torn\n")
    text = read_run(str(folder)).last_text
    assert text.began is not None and text.ended is None and not text.lasted
