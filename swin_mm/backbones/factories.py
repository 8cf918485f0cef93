"""From OpenMMLab's ``norm_cfg`` and ``act_cfg`` to what makes the layers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

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
        ValueError: if the type does not normalise the last dimension.
    """
    options = dict(cfg)
    name = options.pop("type", None)
    requires_grad = options.pop("requires_grad", True)
    norm = NORMS.get(name) if isinstance(name, str) else name if name in NORMS.values() else None
    if norm is None:
        raise ValueError(
            f"norm_cfg must name a norm over the channels of a token ({', '.join(NORMS)}), got "
            f"type={name!r}; batch and group norms belong to the necks and heads"
        )

    def make(channels: int) -> nn.Module:
        layer = norm(channels, **options)
        return layer if requires_grad else layer.requires_grad_(False)

    return make


def activation_factory(cfg: Mapping) -> Callable[[], nn.Module]:
    """Read an ``act_cfg``: the name of an activation in ``torch.nn`` or in MMCV, and its options.

    Raises:
        ValueError: if there is no such activation.
    """
    options = dict(cfg)
    name = options.pop("type", None)
    activation = getattr(nn, name, None) if isinstance(name, str) else name
    if activation is None and isinstance(name, str):
        activation = _registered(name)
    if not (isinstance(activation, type) and issubclass(activation, nn.Module)):
        raise ValueError(
            f"act_cfg must name an activation of torch.nn or MMCV, got type={name!r}; "
            "the published networks use dict(type='GELU')"
        )
    return functools.partial(activation, **options)


def _registered(name: str) -> type | None:
    """Look an activation up in MMEngine's registry, which MMCV fills when it is imported."""
    try:
        import mmcv.cnn  # noqa: F401
    except ImportError:  # MMCV is no need of ours
        return None
    return MODELS.get(name)
