"""Let a backbone inside a detector take any layout from plain ``load_state_dict``.

MMEngine and torch give every module's hooks the keys under its own prefix before they load it. So
an official detector's file loads through ``load_from=`` in anyone's configuration, heads and all.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from torch import Tensor, nn

from swin_mm.checkpoints.anatomy import anatomy_of, check_same_network
from swin_mm.checkpoints.coordinates import compare_coordinates
from swin_mm.checkpoints.detect import detect
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import BUFFERS, is_ready, resize_to_fit
from swin_mm.checkpoints.load import adapt_state_dict, serves_no_output

_logger = logging.getLogger(__name__)


def adapt_on_load(
    module: nn.Module,
    state_dict: MutableMapping[str, Any],
    prefix: str,
    *_: Any,
    log: Callable[[str], None] = _logger.info,
) -> None:
    """Bring what is about to be loaded to a backbone's names, order and shapes, in place.

    For ``backbone.register_load_state_dict_pre_hook``. A file of our own names and shapes passes
    untouched: resuming is exact, and strict loading stays strict.

    Args:
        module: the backbone.
        state_dict: all that is being loaded.
        prefix: of the backbone in it, such as ``'backbone.'``.
        log: takes the report where anything was changed; bind it with ``functools.partial``.

    Raises:
        CheckpointError: if what lies under the prefix belongs to another network.
    """
    under = {
        key.removeprefix(prefix): value
        for key, value in state_dict.items()
        if key.startswith(prefix) and isinstance(value, Tensor)
    }
    if not under:
        return
    own = module.state_dict()
    try:
        layout = _layout_of(under, own, module)
        if layout == "openmmlab":
            changes = _mend(module, own, under, state_dict, prefix)
            for how, number in Counter(changes).items():
                log(f"{number} tensors of the checkpoint resized ({how})")
            return
        adapted, report = adapt_state_dict(under, module)
    except CheckpointError as error:
        where = f"under {prefix!r}: " if prefix else ""
        raise type(error)(f"{where}{error}") from error
    for name in under:
        del state_dict[prefix + name]
    state_dict.update((prefix + name, value) for name, value in adapted.items())
    log(str(report))


def _layout_of(
    under: Mapping[str, Tensor], own: Mapping[str, Tensor], module: nn.Module
) -> str | None:
    """Tell whose names these are; a few tensors of a backbone of ours, such as norms, are ours.

    Raises:
        CheckpointError: if they are another network's. Where loading is not strict, its norms
            might fit and all else be left out in silence.
    """
    try:
        found = detect(under)
    except CheckpointError:
        known = {name for name in under if name in own or serves_no_output(name, module)}
        of_stages = {name for name in under if name.startswith("stages.")}
        if 2 * len(known) < len(under) or (of_stages and not of_stages & known):
            raise
        return "openmmlab"
    if found.prefix or found.layout.name != "openmmlab":
        return None
    theirs, ours = anatomy_of(under), anatomy_of(own)
    pairs = zip(theirs.depths, ours.depths, strict=False)
    is_whole = "patch_embed.projection.weight" in under
    if is_whole or any(depth > most for depth, most in pairs):
        check_same_network(theirs, ours)
    return "openmmlab"


def _mend(
    module: nn.Module,
    own: MutableMapping[str, Tensor],
    under: MutableMapping[str, Tensor],
    state_dict: MutableMapping[str, Any],
    prefix: str,
) -> list[str]:
    """Bring tensors of our own names to other windows, pictures or channels, nothing else.

    What serves stages or outputs that this backbone was not asked for is dropped, and buffers that
    it does not save. What no rule covers is left as it is, for ``load_state_dict`` to report.

    Returns:
        What was done, for each tensor that was resized.

    Raises:
        CheckpointError: if a SwinV2's bias is relative to other windows than the model's.
    """
    changes = [entry.how for entry in compare_coordinates(under, module)]
    _rename_final_norm(under, own, state_dict, prefix)
    for name in under:
        is_extra = name not in own and (
            serves_no_output(name, module) or name.endswith((*BUFFERS, ".attn_mask"))
        )
        if is_extra:
            del state_dict[prefix + name]
        elif name in own and not is_ready(name, under, own):
            resized = resize_to_fit(name, under, module, own[name])
            if resized is not None:
                state_dict[prefix + name], how = resized
                changes += [how] if how else []
    return changes


def _rename_final_norm(
    under: MutableMapping[str, Tensor],
    own: Mapping[str, Tensor],
    state_dict: MutableMapping[str, Any],
    prefix: str,
) -> None:
    """Give the last stage's norm its name; converted ImageNet files keep the classifier's."""
    last = len(anatomy_of(under).depths) - 1
    for kind in ("weight", "bias"):
        old, new = f"norm.{kind}", f"norm{last}.{kind}"
        if old in under and last >= 0:
            tensor = under.pop(old)
            del state_dict[prefix + old]
            if new in own and new not in under:
                under[new] = state_dict[prefix + new] = tensor
