import pytest

from swin_mm.inference.progress import Bars, _Rate


class Fake:
    finished_speed = None

    def __init__(self, speed):
        self.speed = speed


@pytest.mark.parametrize(("speed", "text"), [(12.34, "12.3/s"), (0.25, "4.0 s each"), (None, "")])
def test_the_rate_is_told_in_the_unit_that_reads_well(speed, text):
    assert _Rate().render(Fake(speed)).plain == text


def test_the_count_is_shown_at_the_end_with_what_was_done_before(capsys):
    with Bars("Looking", 3, done=1) as bars:
        bars.advance()
        bars.advance()
    assert "3/3" in capsys.readouterr().err


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
