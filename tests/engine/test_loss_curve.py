"""The course of a training."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from mmengine.logging import MessageHub

from swin_mm.engine.loss_curve import Course, course_of, draw_loss_curve, smooth


def test_smoothing_is_the_mean_of_the_last_values() -> None:
    assert smooth(np.array([4.0, 2.0, 0.0, 2.0]), 2).tolist() == [4.0, 3.0, 1.0, 1.0]
    assert smooth(np.array([4.0, 2.0]), 10).tolist() == [4.0, 3.0]


def test_the_course_is_each_iteration_of_the_training_alone() -> None:
    hub = MessageHub("test_course")
    for step in range(3):
        hub.update_scalar("train/loss", 3.0 - step)
        hub.update_scalar("train/loss_cls", 1.0)
        hub.update_scalar("train/acc", 50.0)
        hub.update_scalar("train/lr", 0.1)
    hub.update_scalar("val/loss", 9.0)
    course = course_of(hub)
    assert course.loss.tolist() == [3.0, 2.0, 1.0]
    assert course.rate.tolist() == [0.1] * 3
    assert list(course.parts) == ["loss_cls"]


@pytest.mark.parametrize("iterations", [1, 400])
def test_the_picture_shows_a_curve(iterations: int, tmp_path: Path) -> None:
    path = tmp_path / "loss.png"
    loss = np.linspace(3.0, 1.0, iterations)
    draw_loss_curve(Course(loss, loss / 10, {"loss_cls": loss / 2}), str(path))
    picture = cv2.imread(str(path))
    assert picture.shape[0] > 300
    assert picture.std() > 10
    assert [file.name for file in tmp_path.iterdir()] == ["loss.png"]
