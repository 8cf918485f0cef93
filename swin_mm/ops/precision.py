"""In what precision something is computed."""

from __future__ import annotations

import contextlib

import torch


def autocast_off(device: torch.device) -> contextlib.AbstractContextManager:
    """Let a block of code choose its own dtypes; devices without autocast have none to turn off."""
    if not torch.amp.is_autocast_available(device.type):
        return contextlib.nullcontext()
    return torch.autocast(device.type, enabled=False)
