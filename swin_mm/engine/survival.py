"""Let any config's training survive: our hook and our loops in the place of MMEngine's."""

from __future__ import annotations

from mmengine.config import Config

from swin_mm.engine.config import type_of
from swin_mm.engine.notes import Notes

_HOOK = "CheckpointHook"
_LOOPS = {
    "EpochBasedTrainLoop": "swin_mm.ResumableEpochLoop",
    "IterBasedTrainLoop": "swin_mm.ResumableIterLoop",
}
_OURS = {name.rpartition(".")[2] for name in _LOOPS.values()}


def use_safe_checkpoints(cfg: Config) -> None:
    """Put our checkpoint hook, with the same settings, in the place of MMEngine's own."""
    if cfg.get("default_hooks") is None:
        cfg.default_hooks = {}
    if "checkpoint" not in cfg.default_hooks:
        cfg.default_hooks.checkpoint = {"type": _HOOK, "interval": 1}  # MMEngine's default
    hook = cfg.default_hooks.checkpoint
    if hook is not None and type_of(hook) == _HOOK:
        hook["type"] = "swin_mm.SafeCheckpointHook"


def use_resumable_loop(cfg: Config, notes: Notes) -> None:
    """Put our training loop in the place of MMEngine's own; say that another is left."""
    loop = cfg.train_cfg
    kind = type_of(loop)
    if not kind:
        kind = "EpochBasedTrainLoop" if loop.pop("by_epoch", True) else "IterBasedTrainLoop"
    ours = _LOOPS.get(kind)
    if ours is not None:
        loop["type"] = ours
    elif kind.rpartition(".")[2] not in _OURS:
        notes.say(
            f"Training loop: {kind}, none of ours; after a resume it gets other data than it would"
        )
