"""What has to hold before a fast path may take the place of modules."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module


def are_plain(modules: Iterable[nn.Module], x: Tensor) -> bool:
    """Say whether nothing but the numbers in them tells what modules do with x.

    Hooks would go unseen, and sharded parameters, or ones of another dtype, would be misread. Under
    autocast x may be of its dtype, and the parameters of float32.
    """
    device, dtype = x.device.type, x.dtype
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        dtype = torch.float32 if dtype == torch.get_autocast_dtype(device) else dtype
    if _globally_watched():
        return False
    return not any(
        _is_watched(module)
        or any(
            parameter is not None
            and (type(parameter) is not nn.Parameter or parameter.dtype != dtype)
            for parameter in module._parameters.values()
        )
        for module in modules
    )


def are_linear(modules: Iterable[nn.Module]) -> bool:
    """Say whether modules are torch's linear layers and nobody looks on: weights tell it all.

    Others stand in their place where a network is adapted (LoRA), quantised or sharded. While
    tracing nobody is asked for hooks.
    """
    modules = list(modules)
    if any(type(module) is not nn.Linear for module in modules):
        return False
    return torch.compiler.is_compiling() or not (
        _globally_watched() or any(map(_is_watched, modules))
    )


def _is_watched(module: nn.Module) -> bool:
    return bool(
        "forward" in module.__dict__  # patched on the instance
        or module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def _globally_watched() -> bool:
    return bool(
        torch_module._global_forward_hooks
        or torch_module._global_forward_pre_hooks
        or torch_module._global_backward_hooks
        or torch_module._global_backward_pre_hooks
    )
