"""torch.compile for the backbone alone, inside whatever detector or segmentor it stands in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


class CompileError(RuntimeError):
    """torch's compiler failed; the message says what is missing, and how to do without."""


class Compiled:
    """Runs a network's function through torch's compiler, compiled when it is first called.

    The first size is compiled by itself; with the second comes one graph for all sizes and batches.
    Copies and pickles take the options along and nothing that was compiled: torch finds it again,
    for any network of the same kind.

    Args:
        options: keywords of ``torch.compile``. With ``dynamic=True`` the first size already gets
            the graph for all; with ``dynamic=False`` every size has its own.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self._compiled: Callable[..., list[Tensor]] | None = None
        self._first: tuple[int, ...] | None = None

    def __reduce__(self) -> tuple[type[Compiled], tuple[Mapping[str, Any]]]:
        return type(self), (self.options,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return type(self)(self.options)  # the same backend: torch tells backends apart by identity

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self.options)})"

    def __call__(
        self, function: Callable[[Any, Tensor], list[Tensor]], network: Any, x: Tensor
    ) -> list[Tensor]:
        """Compute ``function(network, x)``.

        Args:
            function: always the same.
            network: whose function it is.
            x: (B, C, H, W).

        Raises:
            CompileError: if it cannot be compiled.
        """
        if not _is_compilable(x):
            return function(network, x)
        from torch._dynamo.exc import TorchDynamoException  # here: it takes seconds to import

        try:
            if self._compiled is None:
                self._compiled = torch.compile(function, **self._keywords())
            with _no_size_apart(), _backward_without_autocast():
                return self._compiled(network, self._marked(x))
        except TorchDynamoException as error:
            raise CompileError(_explain(error)) from error

    def _keywords(self) -> dict[str, Any]:
        """Copy the options, deep enough for torch, which takes keys out of ``options``.

        ``dynamic=True`` is left to our marks: torch would take every number for a variable, not
        sizes alone, and compile all of it twice to find out that they are none.
        """
        keywords = {
            key: dict(value) if isinstance(value, Mapping) else value
            for key, value in self.options.items()
        }
        return {**keywords, "dynamic": None if keywords.get("dynamic") else keywords.get("dynamic")}

    def _marked(self, x: Tensor) -> Tensor:
        """Tell the compiler which dimensions differ from call to call: all but the channels.

        Left to itself it finds out one by one, and takes a height that equals the width for the
        same number: a graph for each such surprise.
        """
        dynamic, shape = self.options.get("dynamic"), tuple(x.shape)
        self._first = self._first or shape
        if dynamic is False or (shape == self._first and not dynamic):
            return x
        # Marks would stay on the caller's tensor; and of a view, its base is looked at too.
        x = x.view_as(x) if x.requires_grad else x.detach()
        torch._dynamo.maybe_mark_dynamic(x, [0, 2, 3])
        return x


def _is_compilable(x: Tensor) -> bool:
    """Say whether the compiler is wanted: not where someone traces already, or nothing is there."""
    return not (torch.compiler.is_compiling() or torch.jit.is_tracing() or x.is_meta)


def _no_size_apart() -> contextlib.AbstractContextManager:
    """Let one graph serve sizes that come down to a single window, or batch 1, with the others.

    Torch takes every size, and product of sizes, that is 1 for a case of its own. The switch
    against it is torch's own, made for exporters; versions without it compile a few times more.
    """
    from torch.fx.experimental import _config

    if not hasattr(_config, "backed_size_oblivious"):
        return contextlib.nullcontext()
    return _config.patch(backed_size_oblivious=True)


def _backward_without_autocast() -> contextlib.AbstractContextManager:
    """Let gradients be computed in the dtypes of the forward pass, as they are without a compiler.

    Torch's traces them under autocast where the forward pass was, and what chose float32 for itself
    there, as position biases do, would have its gradient in half precision.
    """
    from torch._functorch import config

    if not hasattr(config, "backward_pass_autocast"):
        return contextlib.nullcontext()
    return config.patch(backward_pass_autocast="off")


def _explain(error: BaseException) -> str:
    """Say in one line what failed, and how to go on."""
    inner = getattr(error, "inner_exception", error)  # what a backend raised
    said = f"{type(inner).__name__}: {next(iter(str(inner).strip().splitlines()), '')}"
    if "InvalidCxxCompiler" in said:
        return (
            "torch.compile needs a C++ compiler and finds none. Install one (g++, or clang), or "
            f"name it in the variable CXX, or build the backbone with compile=False ({said})"
        )
    return f"torch.compile failed, {said}; compile=False computes the same without it"
