"""From OpenMMLab's ``norm_cfg`` and ``act_cfg`` to what makes the layers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from mmengine.registry import MODELS
from torch import nn

NORMS = {"LN": nn.LayerNorm, "LayerNorm": nn.LayerNorm, "RMSNorm": nn.RMSNorm}


def norm_factory(cfg: Mapping) -> Callable[[int], nn.Module]:
    """Read a ``norm_cfg``.

    Args:
        cfg: ``type`` is ``'LN'`` or ``'RMSNorm'``, ``requires_grad=False`` fixes the norms, other
            keys (``eps``, ``elementwise_affine``, ``bias``) go to the layer.

    Returns:
        What makes a norm over a number of channels, the last dimension of (B, H, W, C).

    Raises:
        ValueError: if the type does not normalise the last dimension, or its options spoil it.
        TypeError: if ``cfg`` is no dict, or the type has no such option.
    """
    name, options = _read(cfg, "norm_cfg")
    requires_grad = options.pop("requires_grad", True)
    if not isinstance(requires_grad, bool):
        raise ValueError(f"requires_grad of norm_cfg must be True or False, got {requires_grad!r}")
    known = [NORMS.get(name)] if isinstance(name, str) else [n for n in NORMS.values() if n is name]
    norm = known[0] if known else None
    if norm is None:
        raise ValueError(
            f"norm_cfg must name a norm over the channels of a token ({', '.join(NORMS)}), got "
            f"type={name!r}; batch and group norms belong to the necks and heads"
        )

    def make(channels: int) -> nn.Module:
        layer = norm(channels, **options)
        return layer if requires_grad else layer.requires_grad_(False)

    _try(functools.partial(make, 4), cfg, "norm_cfg")
    return make


def activation_factory(cfg: Mapping) -> Callable[[], nn.Module]:
    """Read an ``act_cfg``: the name of an activation in ``torch.nn`` or in MMCV, and its options.

    Raises:
        ValueError: if there is no such activation, or it does not keep shapes or finite numbers.
        TypeError: if ``cfg`` is no dict, or the activation has no such option.
    """
    name, options = _read(cfg, "act_cfg")
    activation = getattr(nn, name, None) if isinstance(name, str) else name
    if activation is None and isinstance(name, str):
        activation = _registered(name)
    if not (isinstance(activation, type) and issubclass(activation, nn.Module)):
        raise ValueError(
            f"act_cfg must name an activation of torch.nn or MMCV, got type={name!r}; "
            "the published networks use dict(type='GELU')"
        )
    make = functools.partial(activation, **options)
    _try(make, cfg, "act_cfg")
    return make


def _read(cfg: Mapping, argument: str) -> tuple[Any, dict[str, Any]]:
    """Divide a config into its type and its options."""
    if not isinstance(cfg, Mapping) or not all(isinstance(key, str) for key in cfg):
        raise TypeError(f"{argument} must be a dict with a type, as dict(type=...), got {cfg!r}")
    options = dict(cfg)
    return options.pop("type", None), options


def _try(make: Callable[[], nn.Module], cfg: Mapping, argument: str) -> None:
    """Make a layer and give it four channels, so that a wrong option is found by its name.

    Raises:
        ValueError: if what comes out is not as many finite numbers.
        TypeError: if the layer does not take its options.
    """
    try:
        with torch.no_grad(), torch.device("cpu"):  # the network itself may be built on meta
            channels = torch.arange(4.0).view(1, 4)
            out = make().eval()(channels)
    except Exception as error:  # whatever a layer of torch's or a user's raises
        raise TypeError(f"{argument}={dict(cfg)!r} does not work: {error}") from error
    is_alike = isinstance(out, torch.Tensor) and out.shape == (1, 4)
    if not is_alike or (type(out) is torch.Tensor and not out.isfinite().all()):
        raise ValueError(
            f"{argument} must keep the shape of its input and finite numbers finite, "
            f"{dict(cfg)!r} makes {out!r} of {channels!r}"
        )


def _registered(name: str) -> type | None:
    """Look an activation up in MMEngine's registry, which MMCV fills when it is imported."""
    try:
        import mmcv.cnn  # noqa: F401
    except ImportError:  # MMCV is no need of ours
        return None
    return MODELS.get(name)
