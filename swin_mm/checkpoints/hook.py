"""Let a backbone inside a detector take any layout from plain ``load_state_dict``.

MMEngine and torch give every module's hooks the keys under its own prefix before they load it. So
an official detector's file loads through ``load_from=`` in anyone's configuration, heads and all.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from torch import Tensor, nn

from swin_mm.checkpoints.anatomy import anatomy_of, check_same_network
from swin_mm.checkpoints.detect import detect
from swin_mm.checkpoints.errors import CheckpointError
from swin_mm.checkpoints.fit import is_ready, resize_to_fit
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
    if any(name.startswith("stages.") for name in under) and not _merging_starts_stages(under):
        _refuse_more_blocks(under, own)
        changes = _mend(module, own, under, state_dict, prefix)
        for how, number in Counter(changes).items():
            log(f"{number} tensors of the checkpoint resized ({how})")
        return
    if not any(".blocks." in name for name in under) and under.keys() & own.keys():
        return  # a few tensors of ours, such as norms
    try:
        adapted, report = adapt_state_dict(under, module)
    except CheckpointError as error:
        where = f"under {prefix!r}: " if prefix else ""
        raise CheckpointError(f"{where}{error}") from error
    for name in under:
        del state_dict[prefix + name]
    state_dict.update((prefix + name, value) for name, value in adapted.items())
    log(str(report))


def _merging_starts_stages(names: Iterable[str]) -> bool:
    """Whether the names are MMPretrain's of a SwinV2, ours but for where merging stands."""
    try:
        return detect(names).layout.name != "openmmlab"
    except CheckpointError:  # no whole network of ours: a few tensors of one
        return False


def _refuse_more_blocks(names: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Refuse a deeper network's file, or the other version's: not strict, it would load in silence.

    Raises:
        CheckpointError: naming what differs.
    """
    theirs, ours = anatomy_of(names), anatomy_of(own)
    pairs = zip(theirs.depths, ours.depths, strict=False)
    if any(depth > most for depth, most in pairs) or theirs.version > ours.version:
        check_same_network(theirs, ours)


def _mend(
    module: nn.Module,
    own: MutableMapping[str, Tensor],
    under: MutableMapping[str, Tensor],
    state_dict: MutableMapping[str, Any],
    prefix: str,
) -> list[str]:
    """Bring tensors of our own names to other windows, pictures or channels, nothing else.

    What serves stages or outputs that this backbone was not asked for is dropped. What no rule
    covers is left as it is, for ``load_state_dict`` to report. Index buffers are left to their own
    modules.

    Returns:
        What was done, for each tensor that was resized.
    """
    changes = []
    for name in under:
        is_extra = name not in own and serves_no_output(name, module)
        if is_extra or name.endswith(".attn_mask"):
            del state_dict[prefix + name]
        elif name in own and not is_ready(name, under, own):
            resized = resize_to_fit(name, under, module, own[name])
            if resized is not None:
                state_dict[prefix + name], how = resized
                changes += [how] if how else []
    return changes
