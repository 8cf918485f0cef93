"""Fresh weights, and what an ``init_cfg`` puts in their place."""

from __future__ import annotations

import logging
from collections.abc import Callable

from mmengine.logging import print_log
from mmengine.model import BaseModule, initialize
from torch import nn

from swin_mm.backbones.pretrained import load_options, split_init_cfg
from swin_mm.checkpoints import LoadReport
from swin_mm.layers import SwinBlock


def draw_weights(network: nn.Module) -> None:
    """Draw linear weights and bias tables from a normal of std 0.02.

    Linear biases are zero, norms one and zero, the patch convolution as torch draws it: the
    authors' initialisation (their code, ``_init_weights``). Norms behind their branches are zero
    altogether, so that each block starts as an identity (``_init_respostnorm``).
    """
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.trunc_normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif hasattr(module, "reset_parameters"):
            module.reset_parameters()
    for block in network.modules():
        if isinstance(block, SwinBlock) and block.post_norm:
            for parameter in (*block.norm1.parameters(), *block.norm2.parameters()):
                nn.init.zeros_(parameter)


def obey_init_cfg(network: BaseModule, load: Callable[..., LoadReport]) -> None:
    """Do what a network's ``init_cfg`` says to its fresh weights, files last, and say so.

    Args:
        network: whose ``init_cfg``.
        load: reads a checkpoint into it.

    Raises:
        CheckpointError: if a pretrained file cannot be read or does not fit.
    """
    pretrained, others = split_init_cfg(network.init_cfg)
    if others:
        initialize(network, others)
    for cfg in pretrained:
        report = load(network, cfg["checkpoint"], **load_options(cfg))
        is_odd = report.missing or report.surprises or report.assumed
        level = logging.WARNING if is_odd else logging.INFO
        print_log(f"{cfg['checkpoint']}: {report}", logger="current", level=level)
    if not pretrained:
        note = f"{type(network).__name__} has no pretrained weights: it starts from scratch"
        print_log(note, logger="current", level=logging.WARNING)
