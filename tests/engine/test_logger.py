"""Log lines of a validation."""

from types import SimpleNamespace

import pytest
from mmengine.hooks import LoggerHook

from swin_mm.engine import EvenLoggerHook


@pytest.mark.parametrize(("pictures", "lines"), [(100, 10), (5, 5), (5000, 10)])
def test_a_validation_takes_ten_lines_whatever_the_interval_of_training(
    pictures: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def log(hook: LoggerHook, runner: object, batch_idx: int, *_: object) -> None:
        if hook.every_n_inner_iters(batch_idx, hook.interval):
            told.append(batch_idx)

    monkeypatch.setattr(LoggerHook, "after_val_iter", log)
    hook = EvenLoggerHook(interval=1)
    for picture in range(pictures):
        hook.after_val_iter(SimpleNamespace(val_dataloader=range(pictures)), picture)
    assert len(told) == lines
    assert hook.interval == 1
