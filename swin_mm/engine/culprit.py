"""Which module first made a number that is not finite: the batch is computed again, watched."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from mmengine.model import BaseModel
from torch import Tensor, nn


@dataclass
class Culprit:
    """What was found in one process.

    Attributes:
        pictures: paths of the batch.
        terms: terms of the loss by name, those that are not finite.
        where: in a sentence, what was not finite first; empty where everything was finite.
    """

    pictures: list[str] = field(default_factory=list)
    terms: dict[str, float] = field(default_factory=dict)
    where: str = ""


def find_culprit(
    model: BaseModel, data: Any, *, context: Callable[[], Any], scale: Callable[[Tensor], Tensor]
) -> Culprit:
    """Compute a batch's loss and gradients again, and name what is not finite first.

    Args:
        model: in training; its random numbers and buffers as they were before the batch.
        data: the batch as the model's preprocessor gave it.
        context: makes the context of the forward pass, autocast for one.
        scale: what the loss is multiplied with before the backward pass.
    """
    found = Culprit(pictures=list(pictures_of(data)))
    if broken := describe_first(tensors_in(data)):
        found.where = f"what goes into the model is not finite already: {broken}"
        return found
    model.zero_grad(set_to_none=True)
    try:
        with torch.enable_grad(), _watched(model) as first:
            with context():
                losses = model._run_forward(data, mode="loss")
            loss, terms = model.parse_losses(losses)
            found.terms = {
                name: value.item()
                for name, value in terms.items()
                if name != "loss" and isinstance(value, Tensor) and not value.isfinite().all()
            }
            if loss.isfinite().all():
                scale(loss).backward()
                found.where = first.backward
            else:
                found.where = first.forward or (
                    "the outputs of all modules are finite: the arithmetic between them, most "
                    "likely of the loss itself, is not"
                )
    except Exception as error:  # the story of the first failure must not be lost for it
        found.where = f"the batch could not be computed again ({type(error).__name__}: {error})"
    finally:
        model.zero_grad(set_to_none=True)
    return found


class _First:
    """Sentences about the first module whose output, or its gradient, is not finite.

    Attributes:
        forward: about the first output in the order of the forward pass.
        backward: about the first gradient in that of the backward pass.
    """

    forward = ""
    backward = ""

    def output(self, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        """Look at an output, and at its gradient when that comes."""
        label = f"{name} ({type(module).__name__})"
        if not self.forward and (broken := describe_first(tensors_in(output))):
            self.forward = f"first module whose output is not finite: {label}, {broken}"
        for tensor in tensors_in(output):
            if tensor.requires_grad:
                tensor.register_hook(functools.partial(self._gradient, f"the output of {label}"))

    def parameter(self, name: str, parameter: Tensor) -> None:
        """Look at a parameter's gradient."""
        self._gradient(f"the parameter {name}", parameter.grad)

    def _gradient(self, of: str, gradient: Tensor) -> None:
        if not self.backward and (broken := describe_first([gradient])):
            self.backward = (
                "the loss is finite, its gradient is not: going backwards, first that with respect "
                f"to {of}, {broken}"
            )


@contextmanager
def _watched(model: nn.Module) -> Iterator[_First]:
    first = _First()
    handles = [
        module.register_forward_hook(functools.partial(first.output, name))
        for name, module in model.named_modules()
        if name  # the model's own output is the losses
    ]
    handles += [
        parameter.register_post_accumulate_grad_hook(functools.partial(first.parameter, name))
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    ]
    try:
        yield first
    finally:
        for handle in handles:
            handle.remove()


def describe_first(tensors: Iterator[Tensor] | Sequence[Tensor]) -> str:
    """Say how much of the first tensor that is not finite is not; nothing if all are."""
    for tensor in tensors:
        if tensor.isfinite().all():
            continue
        nan, whole = int(tensor.isnan().sum()), tensor.numel()
        infinite = whole - nan - int(tensor.isfinite().sum())
        counts = [f"{n} {kind}" for n, kind in ((nan, "NaN"), (infinite, "infinite")) if n]
        shape = " x ".join(map(str, tensor.shape)) or "1"
        return f"{' and '.join(counts)} of its {shape} values, {tensor.dtype}"
    return ""


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Go through the tensors of nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from tensors_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from tensors_in(inner)


def pictures_of(data: Any) -> Iterator[str]:
    """Go through the pictures of a batch, as its data samples name them."""
    if isinstance(data, Mapping):
        data = list(data.values())
    if isinstance(data, list | tuple):
        for inner in data:
            yield from pictures_of(inner)
    elif isinstance(path := getattr(data, "img_path", None), str):
        yield path


def first_in_state(model: nn.Module) -> str:
    """Name the first parameter or buffer that is not finite; nothing if all are."""
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        with torch.no_grad():
            if broken := describe_first([tensor]):
                return f"{name}, {broken}"
    return ""


def tell(culprits: Sequence[Culprit]) -> list[str]:
    """Write what was found, in lines: of the processes that found something, or of all."""
    guilty = [rank for rank, one in enumerate(culprits) if one.where or one.terms]
    lines = []
    for rank in guilty or range(len(culprits)):
        one = culprits[rank]
        prefix = f"process {rank}: " if len(culprits) > 1 else ""
        if one.terms:
            terms = ", ".join(f"{name} {value:g}" for name, value in one.terms.items())
            lines.append(f"{prefix}not finite: {terms}")
        lines.append(
            prefix
            + (
                one.where
                or "computed again, everything was finite: the order of sums on this device "
                "decides, a path not taken while modules are watched, or the sum over processes"
            )
        )
        named = [f"  {path}" for path in one.pictures] or ["  no data sample names its img_path"]
        lines += [f"{prefix}pictures of the batch:", *named]
    return lines
