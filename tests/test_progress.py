"""The bar shows the count and the rate of a job, and a second one its large pieces."""

import pytest

from swin_mm.progress import Bars, _Rate


class Fake:
    finished_speed = None

    def __init__(self, speed):
        self.speed = speed


@pytest.mark.parametrize(
    ("speed", "text"),
    [(123.4, "123/s"), (12.34, "12.3/s"), (1.0, "1.0/s"), (0.25, "4.0 s each"), (None, "")],
)
def test_the_rate_is_told_in_the_unit_that_reads_well(speed, text):
    assert _Rate().render(Fake(speed)).plain == text


def test_the_count_is_shown_at_the_end_on_stderr_with_what_was_done_before(capsys):
    with Bars("Looking", 30, done=1) as bars:
        bars.advance()
        bars.advance(28)
    out, err = capsys.readouterr()
    assert out == ""
    assert "30/30" in err and "/s" in err


def test_what_is_hidden_says_nothing(capsys):
    with Bars("Looking", 30, shown=False) as bars:
        bars.inside("Tiles", 1, 7)
        bars.advance(30)
    assert capsys.readouterr() == ("", "")


def test_a_large_piece_has_a_bar_of_its_own_until_it_is_done(capsys):
    with Bars("Looking", 1) as bars:
        bars.inside("Tiles of [a]", 1, 7)
        bars.inside("Tiles of [a]", 2, 7)
        tasks = bars._progress.tasks
        assert (tasks[1].completed, tasks[1].total) == (2, 7)
        bars.say("a line")
        bars.advance()
        assert len(bars._progress.tasks) == 1
    assert "a line" in capsys.readouterr().err
