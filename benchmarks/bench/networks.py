"""Ours and MMDetection's, the weights that all networks share, and what is timed."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

import swin_mm

State = Mapping[str, Tensor]
STILL = ("timm", "torchvision")
"""Who does not shift windows along an axis with a single one; ours then does not either."""


@dataclass(frozen=True)
class Entrant:
    """A network that takes its turn.

    Attributes:
        forward: pictures, (B, 3, H, W), to one map a stage.
        module: whose parameters get gradients; ``None`` where nothing trains.
        bare: whether its maps are (B, H, W, C) and have no output norm.
    """

    forward: Callable[[Tensor], Sequence[Tensor]]
    module: nn.Module | None = None
    bare: bool = False


def build_ours(variant: str, *, with_cp: bool = False, peer: str = "") -> swin_mm.SwinTransformer:
    """Build our backbone, with a peer's rule for small maps."""
    return swin_mm.SwinTransformer(
        variant=variant,
        with_cp=with_cp,
        drop_path_rate=0.0,
        small_maps="still" if peer in STILL else "shift",
    )


def draw_weights(net: nn.Module, seed: int = 0) -> nn.Module:
    """Draw all parameters so that none hides, as fresh norms and tables do, and none overflows."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in net.named_parameters():
        norm = ".norm" in f".{name}" and name.endswith("weight")
        std = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.1
        std = 0.5 if name.endswith("table") else std
        parameter.data.normal_(1.0 if norm else 0.0, std, generator=generator)
    return net


def build_mmdet(variant: str, state: State, *, with_cp: bool = False) -> nn.Module:
    """Build MMDetection's Swin with our weights, which have its names."""
    from mmdet.models.backbones.swin import SwinTransformer

    sizes = swin_mm.VARIANTS[variant]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = SwinTransformer(
            embed_dims=sizes.embed_dims,
            depths=sizes.depths,
            num_heads=sizes.num_heads,
            with_cp=with_cp,
            drop_path_rate=0.0,
        )
    net.load_state_dict(state)
    return net


def in_precision(x: Tensor, precision: str) -> Tensor:
    """Bring pictures to what a network of a precision takes."""
    return x.bfloat16() if precision == "bf16" else x


def prepared(net: nn.Module, precision: str, *, training: bool) -> nn.Module:
    """Bring a network to a mode and a precision. MMDetection's ``train()`` returns nothing."""
    net.train(training)
    return net.bfloat16() if precision == "bf16" else net


def step(entrant: Entrant, x: Tensor, *, trains: bool, precision: str) -> list[Tensor]:
    """Do what is timed: the maps, and in training all gradients, which are dropped again.

    Returns:
        The maps.
    """
    autocast: contextlib.AbstractContextManager = contextlib.nullcontext()
    if entrant.module is not None and precision == "bf16 autocast":
        autocast = torch.autocast("cpu", torch.bfloat16)
    with torch.set_grad_enabled(trains), autocast:
        maps = list(entrant.forward(x))
    if trains:
        torch.autograd.backward(maps, [torch.ones_like(one) for one in maps])
        for parameter in entrant.module.parameters():
            parameter.grad = None
    return [one.detach() for one in maps]


def worst_difference(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> float:
    """Largest difference of any map by the map's largest value.

    Raises:
        ValueError: if shapes differ.
    """
    shapes = [[tuple(one.shape) for one in maps] for maps in (ours, theirs)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"maps must have the same shapes, got {shapes[0]} and {shapes[1]}")
    pairs = [(one.double(), other.double()) for one, other in zip(ours, theirs, strict=True)]
    return max(float((one - other).abs().max() / one.abs().max()) for one, other in pairs)


def normalised(maps: Sequence[Tensor], net: swin_mm.SwinTransformer) -> list[Tensor]:
    """Give bare maps, (B, H, W, C), our output norms: float32, (B, C, H, W)."""
    done = []
    for stage, one in enumerate(maps):
        norm = getattr(net, f"norm{stage}")
        weight, bias = norm.weight.detach().float(), norm.bias.detach().float()
        normal = functional.layer_norm(one.float(), one.shape[-1:], weight, bias, norm.eps)
        done.append(normal.permute(0, 3, 1, 2))
    return done
