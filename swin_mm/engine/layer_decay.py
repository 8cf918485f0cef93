"""Parameter groups of a Swin: a smaller learning rate the deeper below the head, and no decay."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from mmengine.logging import print_log
from mmengine.optim import DefaultOptimWrapperConstructor
from torch import nn

from swin_mm.checkpoints.containers import WRAPPERS
from swin_mm.engine.errors import near
from swin_mm.registry import OPTIM_WRAPPER_CONSTRUCTORS

_RATE, _NO_DECAY = "layer_decay_rate", "swin_no_decay"
_MMENGINES = (
    "custom_keys",
    "bias_lr_mult",
    "bias_decay_mult",
    "norm_decay_mult",
    "flat_decay_mult",
    "dwconv_decay_mult",
    "dcn_offset_lr_mult",
    "bypass_duplicate",
)

# What parallel, compiled and checkpointed modules insert into the names of what they wrap.
_WRAPPERS = ("module", *WRAPPERS)
_BLOCK = re.compile(r"(|.*?\.)stages\.(\d+)\.blocks\.(\d+)\.attn\.w_msa\..*")
_STEM = re.compile(r"patch_embed\..*|absolute_pos_embed")
_PLACE = re.compile(r"stages\.(\d+)\.(?:blocks\.(\d+)|downsample)\..*|norm(\d+)\..*")
_SPARED = re.compile(
    r"absolute_pos_embed|(.*\.)?norm\d*\.(weight|bias)"
    r"|.*\.(relative_position_bias_table|logit_scale|cpb_mlp\..*)"
)


@dataclass(frozen=True)
class Place:
    """Where a parameter stands in a network.

    Attributes:
        layer: 0 for the patch embedding, then one for each block, counted through all stages; the
            number after the last block's for all that is no part of a Swin.
        above: how many layers lie between it and the head, the head's own among them.
        spared: whether the authors train it without weight decay.
    """

    layer: int
    above: int
    spared: bool


def places_of(names: Iterable[str]) -> dict[str, Place]:
    """Find the place of each parameter of a model by its name.

    Downsampling belongs to the block before it, as its weights lie in that stage; an output's norm
    too, since nothing lies between them.

    Args:
        names: of every parameter, those that are not trained among them. A Swin may stand anywhere
            in the model; there may be several, each is counted by itself.

    Returns:
        A place by the name as it was given; none at all if the model holds no Swin.
    """
    bare = {name: ".".join(p for p in name.split(".") if p not in _WRAPPERS) for name in names}
    depths: dict[str, dict[int, int]] = defaultdict(dict)
    for name in bare.values():
        if found := _BLOCK.fullmatch(name):
            stages, stage, block = depths[found[1]], int(found[2]), int(found[3])
            stages[stage] = max(stages.get(stage, 0), block + 1)
    if not depths:
        return {}
    places = {}
    for name, plain in bare.items():
        prefix = max((one for one in depths if plain.startswith(one)), key=len, default=None)
        layer = None if prefix is None else _layer_of(plain[len(prefix) :], depths[prefix])
        if layer is None:
            places[name] = Place(1 + max(sum(one.values()) for one in depths.values()), 0, False)
        else:
            spared = _SPARED.fullmatch(plain[len(prefix) :]) is not None
            places[name] = Place(layer, sum(depths[prefix].values()) + 1 - layer, spared)
    return places


def _layer_of(name: str, depths: Mapping[int, int]) -> int | None:
    """Count the layers up to a parameter; None for one that is no part of the backbone."""
    if _STEM.fullmatch(name):
        return 0
    found = _PLACE.fullmatch(name)
    if found is None:
        return None
    stage, block, norm = found.groups()
    last = int(stage or norm) if block is None else int(stage) - 1
    before = sum(depth for number, depth in depths.items() if number <= last)
    return before if block is None else before + int(block) + 1


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class LayerDecayOptimWrapperConstructor(DefaultOptimWrapperConstructor):
    """MMEngine's constructor of optimizers, with two options more for models with a Swin.

    ``layer_decay_rate=r`` multiplies the learning rate of a layer by r for each layer between it
    and the head (SimMIM, Xie et al. 2022, fine-tunes so; see :func:`places_of` for the layers).
    Necks and heads keep the whole rate. ``swin_no_decay=True`` trains norms, position biases and
    position embeddings of the Swin without weight decay, as its authors do (Liu et al. 2021), and
    what takes their place in SwinV2 (Liu et al. 2022): ``logit_scale`` and ``cpb_mlp``.

    MMEngine's own options hold beside them: the rate is multiplied with what they say, and what
    ``swin_no_decay`` spares is spared whatever they say. Parameters of the same settings come into
    one group, which optimizers step through faster than through a group for each.

    Args:
        optim_wrapper_cfg: of the wrapper, with ``optimizer``.
        paramwise_cfg: the two options, and MMEngine's.

    Raises:
        ValueError: if an option is not known, out of range, or has nothing to act on.
    """

    def __init__(
        self, optim_wrapper_cfg: dict[str, Any], paramwise_cfg: dict[str, Any] | None = None
    ) -> None:
        super().__init__(optim_wrapper_cfg, paramwise_cfg)
        known = (_RATE, _NO_DECAY, *_MMENGINES)
        for key in self.paramwise_cfg:
            if key not in known:
                guess = near(key, known) or f"; it takes {', '.join(known)}"
                raise ValueError(f"paramwise_cfg has no {key!r}{guess}")
        self._rate = self.paramwise_cfg.get(_RATE, 1.0)
        self._spares = bool(self.paramwise_cfg.get(_NO_DECAY, False))
        if not (isinstance(self._rate, Real) and 0 < self._rate <= 1):
            raise ValueError(
                f"{_RATE} must be above 0 and at most 1, got {self._rate!r}. "
                "Usual: 0.8, or 0.75 for large networks"
            )
        if self._rate != 1 and self.base_lr is None:
            raise ValueError(f"{_RATE} needs a rate to decay. Give the optimizer its lr")
        if self._spares and self.base_wd is None:
            raise ValueError(f"{_NO_DECAY} needs a decay. Give the optimizer its weight_decay")

    def add_params(
        self,
        params: list[dict[str, Any]],
        module: nn.Module,
        prefix: str = "",
        is_dcn_module: int | float | None = None,
    ) -> None:
        """Add a module's parameters, a group each; at the end of the whole model join them."""
        super().add_params(params, module, prefix=prefix, is_dcn_module=is_dcn_module)
        if not prefix:
            params[:] = self._joined(params, module)

    def _joined(self, params: list[dict[str, Any]], model: nn.Module) -> list[dict[str, Any]]:
        names = {id(parameter): name for name, parameter in model.named_parameters()}
        places = places_of(names.values())
        if not places and (self._spares or self._rate != 1):
            raise ValueError(
                f"{_RATE} and {_NO_DECAY} need a Swin in the model, with parameters named "
                f"stages.0.blocks.0.attn.w_msa.*; there is none in {type(model).__name__}, whose "
                f"first are {', '.join(list(names.values())[:3])}. Leave them out"
            )
        joined: dict[tuple, dict[str, Any]] = {}
        seen: set[int] = set()
        for group in params:
            (parameter,) = group.pop("params")
            place = places.get(names[id(parameter)], Place(0, 0, False))
            if place.above and self._rate != 1:
                group["lr"] = group.get("lr", self.base_lr) * self._rate**place.above
            if place.spared and self._spares:
                group["weight_decay"] = 0.0
            layer = place.layer if self._rate != 1 else 0
            settings = (layer, *sorted((key, repr(value)) for key, value in group.items()))
            if id(parameter) in seen:  # a group of its own, for the optimizer to refuse
                settings += (len(seen),)
            seen.add(id(parameter))
            joined.setdefault(settings, {"params": [], **group})["params"].append(parameter)
        order = sorted(joined, key=lambda settings: settings[0])
        for settings in order:
            self._tell(settings[0], joined[settings])
        return [joined[settings] for settings in order]

    def _tell(self, layer: int, group: Mapping[str, Any]) -> None:
        where = f"layer {layer}" if self._rate != 1 else "all layers"
        rate, decay = group.get("lr", self.base_lr), group.get("weight_decay", self.base_wd)
        print_log(
            f"{where}: {len(group['params'])} tensors, lr {rate}, weight_decay {decay}",
            logger="current",
        )
