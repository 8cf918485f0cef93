"""Gradients that are gathered over several iterations, and not stepped with yet."""

from __future__ import annotations

from mmengine.dist import all_reduce
from mmengine.runner import Runner
from torch import Tensor


def pending_gradients(runner: Runner) -> dict[str, Tensor]:
    """Copy the gradients that wait for `accumulative_counts` iterations to be full.

    Of several processes the mean, which the step would take in the end: equal up to rounding. All
    of them must ask.

    Returns:
        By parameter, on the CPU; empty where nothing is accumulated, or the step was just taken.
    """
    if getattr(runner.optim_wrapper, "_accumulative_counts", 1) == 1:
        return {}
    pending = {}
    for name, parameter in _parameters(runner):
        if parameter.grad is not None:
            gradient = parameter.grad.detach().clone()
            all_reduce(gradient, "mean")
            pending[name] = gradient.cpu()
    return pending


def give_back(runner: Runner, gradients: dict[str, Tensor]) -> None:
    """Let the next iterations add to these gradients."""
    for name, parameter in _parameters(runner):
        if name in gradients:
            parameter.grad = gradients[name].to(parameter.device).clone()


def _parameters(runner: Runner) -> list[tuple[str, Tensor]]:
    return sorted(getattr(runner.model, "module", runner.model).named_parameters())
