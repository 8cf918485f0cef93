"""Who is calling: someone with numbers, a tracer, or a recorder of a CUDA graph."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext


def is_transformed(x: Tensor) -> bool:
    """Say whether torch.func or forward differentiation is at work, where torch's compiler is not.

    Tensors then stand for others: they are mapped over, or carry derivatives that they do not show.
    """
    return not torch.compiler.is_compiling() and (
        torch._C._functorch.peek_interpreter_stack() is not None
        or torch._C._functorch.is_legacy_batchedtensor(x)  # as autograd makes them
        or forward_ad._current_level >= 0
    )


def is_plain_call(x: Tensor) -> bool:
    """Say whether a call is one of numbers: nothing traces, maps over, or pretends to be x."""
    return not (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or type(x) is not Tensor
        or is_transformed(x)
        or _is_watched()
        or torch._C._len_torch_dispatch_stack()
    )


def is_compiled_here(x: Tensor) -> bool:
    """Say whether torch.compile traces numbers for this very process.

    An exporter traces for others, and under torch.func tensors stand for others. Versions of torch
    that cannot tell an exporter are taken for one.
    """
    return (
        torch.compiler.is_dynamo_compiling()
        and type(x) is Tensor
        and hasattr(torch.compiler, "is_exporting")
        and not torch.compiler.is_exporting()
        and torch._C._functorch.get_dynamic_layer_stack_depth() == 0
    )


def is_recorded(x: Tensor) -> bool:
    """Say whether a CUDA graph is being captured: nothing is computed yet, in memory of its own."""
    return x.is_cuda and torch.cuda.is_current_stream_capturing()


def _is_watched() -> bool:
    """Say whether a mode sees every function, but for that which chooses a default device."""
    modes = torch.overrides._get_current_function_mode_stack()
    return not all(type(mode) is DeviceContext for mode in modes)
