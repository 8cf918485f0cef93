import pytest

from swin_mm.inference.progress import _Rate, bar


class Fake:
    finished_speed = None

    def __init__(self, speed):
        self.speed = speed


@pytest.mark.parametrize(("speed", "text"), [(12.34, "12.3/s"), (0.25, "4.0 s each"), (None, "")])
def test_the_rate_is_told_in_the_unit_that_reads_well(speed, text):
    assert _Rate().render(Fake(speed)).plain == text


def test_the_count_is_shown_at_the_end(capsys):
    with bar("Looking", 3) as progress:
        progress.advance(progress.task_ids[0], 3)
    assert "3/3" in capsys.readouterr().err
