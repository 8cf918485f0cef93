"""Hooks that only look on may fail to write; others may not."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from mmengine.hooks import EMAHook, Hook, LoggerHook

from swin_mm.engine.onlookers import only_looks_on
from swin_mm.engine.pictures import PredictionPictures
from swin_mm.engine.report import RunRecord


class FullLogger(LoggerHook):
    """Finds the disk full."""

    def after_train_iter(self, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


class FullHook(Hook):
    """The same, of a hook that the training may need."""

    after_train_iter = FullLogger.after_train_iter


def test_onlookers_are_known() -> None:
    for one in (FullLogger(), RunRecord(), PredictionPictures("here")):
        assert only_looks_on(one)
    for one in (FullHook(), EMAHook()):
        assert not only_looks_on(one)


def test_an_onlooker_that_cannot_write_is_told_of_once(toy_run: Callable, tmp_path: Path) -> None:
    run = toy_run(tmp_path, custom_hooks=[FullLogger()], build_only=True)
    said = []
    run.logger.warning = said.append
    run.train()
    (told,) = [text for text in said if "FullLogger" in str(text)]
    assert "could not write: [Errno 28] No space left on device. The training goes on" in told
    assert (tmp_path / "epoch_2.pth").is_file()


def test_another_hooks_error_ends_the_run(toy_run: Callable, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        toy_run(tmp_path, custom_hooks=[FullHook()])


def test_a_log_file_that_cannot_be_written_is_told_of_once(
    toy_run: Callable, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    def fill() -> None:
        handler.stream.close()
        handler.stream = open("/dev/full", "w")  # noqa: SIM115

    run = toy_run(tmp_path, build_only=True, acts={("before_train_iter", 2): fill})
    (handler,) = [one for one in run.logger.handlers if hasattr(one, "baseFilename")]
    run.train()
    told = capsys.readouterr().err
    assert told.count("cannot be written: [Errno 28]") == 1
    assert "Traceback" not in told
