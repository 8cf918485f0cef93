"""The course of a training as one picture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mmengine.logging import MessageHub


@dataclass(frozen=True)
class Course:
    """What each iteration of a training reported, from the first one on.

    Attributes:
        loss: the whole loss, (iterations,).
        rate: the learning rate of the first group of parameters, (iterations,).
        parts: the losses that it is the sum of, by name, each (iterations,).
    """

    loss: np.ndarray
    rate: np.ndarray
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)


def course_of(hub: MessageHub) -> Course:
    """Take the course out of MMEngine's message hub, which a checkpoint carries along.

    Its log files hold only means over windows; the hub holds each iteration, also those before a
    resume.
    """
    scalars = {
        name.removeprefix("train/"): np.asarray(buffer.data[0], dtype=float)
        for name, buffer in hub.log_scalars.items()
        if name.startswith("train/")
    }
    loss = scalars.pop("loss", np.empty(0))
    parts = {
        name: values
        for name, values in scalars.items()
        if "loss" in name and len(values) == len(loss)
    }
    return Course(loss, scalars.get("lr", np.empty(0)), parts)


def smooth(values: np.ndarray, span: int) -> np.ndarray:
    """Average each value with up to `span - 1` before it, (iterations,)."""
    sums = np.cumsum(np.insert(values, 0, 0.0))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - span, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)


def draw_loss_curve(course: Course, path: str) -> None:
    """Draw the loss, raw and smoothed, its parts, and the learning rate below, as a PNG."""
    steps = np.arange(1, len(course.loss) + 1)
    span = max(1, len(steps) // 25)
    figure = Figure(figsize=(9, 6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for name, values in course.parts.items():
        upper.plot(steps, smooth(values, span), linewidth=1, label=name)
    upper.plot(steps, course.loss, color="black", alpha=0.25, linewidth=0.8)
    label = f"loss, mean of {span}" if span > 1 else "loss"
    upper.plot(steps, smooth(course.loss, span), color="black", linewidth=2, label=label)
    upper.set_ylabel("loss")
    upper.set_ylim(bottom=0)
    upper.legend(loc="upper right", fontsize="small")
    upper.grid(alpha=0.3)
    lower.plot(np.arange(1, len(course.rate) + 1), course.rate, color="tab:blue")
    lower.set_ylabel("learning rate")
    lower.set_xlabel("iteration")
    lower.set_ylim(bottom=0)
    lower.xaxis.set_major_locator(MaxNLocator(integer=True))
    lower.ticklabel_format(axis="y", scilimits=(0, 0))
    lower.grid(alpha=0.3)
    figure.savefig(path + ".part", format="png", dpi=120)
    os.replace(path + ".part", path)
