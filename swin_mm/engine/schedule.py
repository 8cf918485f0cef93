"""A recipe shortened to so many iterations, in proportion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mmengine.config import Config

from swin_mm.engine.config import as_list, type_of
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes

# Arguments of MMEngine's schedulers that are moments or spans.
_MOMENTS = ("begin", "end", "milestones", "T_max", "step_size", "total_steps", "periods")
_LOG_LINES = 20  # of a short run


def shorten(cfg: Config, max_iters: int, given: Iterable[str], notes: Notes) -> None:
    """Train for so many iterations, then validate and save; the schedule shrinks with them.

    Every moment of the schedule keeps its share of the whole; a warm-up keeps its length, up to a
    tenth of the run.

    Args:
        cfg: changed in place.
        max_iters: iterations, >= 1.
        given: keys that the user set on the command line, which stand as they are.
        notes: what the new schedule is goes there.

    Raises:
        UsageError: if `max_iters` is below 1, or the schedule counts iterations where the loop
            counts epochs.
    """
    if max_iters < 1:
        raise UsageError(f"--max-iters must be at least 1, got {max_iters}")
    loop = cfg.train_cfg
    epochs, iters = loop.get("max_epochs"), loop.get("max_iters")
    whole = iters or epochs
    given = set(given)
    warmup = _shorten_schedulers(cfg, max_iters, whole=whole, in_epochs=not iters, given=given)

    cfg.train_cfg = {"type": "IterBasedTrainLoop", "max_iters": max_iters}
    cfg.train_cfg["val_interval"] = (
        loop["val_interval"] if "train_cfg.val_interval" in given else max_iters
    )
    _count_in_iterations(cfg, max_iters, given)
    recipe = f"{whole} {'iterations' if iters else 'epochs'}"
    climb = f"a warm-up of {warmup}" if warmup else "no warm-up"
    notes.say(
        f"Schedule: {max_iters} iterations in place of {recipe}, the rate's course in proportion, "
        f"{climb}; validation and a checkpoint at the end"
    )


def _shorten_schedulers(
    cfg: Config, max_iters: int, *, whole: int, in_epochs: bool, given: set[str]
) -> int:
    """Rescale `param_scheduler`, and return the length of the warm-up that is left."""
    kept, warmup, old_warmup = [], 0, None
    for number, scheduler in enumerate(as_list(cfg.get("param_scheduler"))):
        prefix = f"param_scheduler.{number}"
        by_epoch = scheduler.get("by_epoch", True)
        if any(key == prefix or key.startswith(f"{prefix}.") for key in given) and not by_epoch:
            kept.append(scheduler)
            if _is_warmup(scheduler, by_epoch, in_epochs, whole):
                old_warmup = warmup = scheduler["end"]
            continue
        if _is_warmup(scheduler, by_epoch, in_epochs, whole):
            old_warmup = scheduler["end"]
            warmup = min(old_warmup, max_iters // 10)
            if warmup >= 2:  # shorter ones have no slope
                kept.append({**scheduler, "end": warmup})
            continue
        if by_epoch != in_epochs:
            raise UsageError(
                f"--max-iters cannot scale {prefix} ({type_of(scheduler)}): it counts "
                f"{'epochs' if by_epoch else 'iterations'} where the loop counts the other; "
                "set param_scheduler in a config of your own"
            )
        moved = {
            key: _scaled(value, max_iters / whole) if key in _MOMENTS else value
            for key, value in scheduler.items()
            if key != "convert_to_iter_based"
        }
        if not by_epoch and scheduler.get("begin") == old_warmup and old_warmup is not None:
            moved["begin"] = warmup
        kept.append({**moved, "by_epoch": False})
    cfg.param_scheduler = kept
    return warmup if warmup >= 2 else 0


def _is_warmup(scheduler: dict, by_epoch: bool, in_epochs: bool, whole: int) -> bool:
    climbs = type_of(scheduler).startswith(("Linear", "Constant")) and "end" in scheduler
    starts = scheduler.get("begin", 0) == 0
    return climbs and starts and not by_epoch and (in_epochs or scheduler["end"] < whole)


def _scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list | tuple):
        return [_scaled(one, factor) for one in value]
    return max(1, round(value * factor)) if value else value


def _count_in_iterations(cfg: Config, max_iters: int, given: set[str]) -> None:
    """Turn sampler, log and checkpoints of a recipe to a loop of iterations."""
    sampler = cfg.train_dataloader.get("sampler") or {}
    if type_of(sampler) == "DefaultSampler":
        # It ends after each epoch, and MMEngine's loop then pauses for two seconds.
        sampler["type"] = "InfiniteSampler"
        sampler.pop("round_up", None)
    interval = max(1, min(50, max_iters // _LOG_LINES))
    hooks = cfg.setdefault("default_hooks", {})
    logger = hooks.setdefault("logger", {"type": "LoggerHook"})
    if logger is not None:  # nothing in the place of a hook leaves it out
        if type_of(logger) == "LoggerHook":
            logger["type"] = "swin_mm.EvenLoggerHook"
        logger["log_metric_by_epoch"] = False
        if "default_hooks.logger.interval" in given:
            interval = logger["interval"]
        logger["interval"] = interval
    checkpoint = hooks.setdefault("checkpoint", {"type": "CheckpointHook"})
    if checkpoint is not None:
        checkpoint["by_epoch"] = False
        if "default_hooks.checkpoint.interval" not in given:
            checkpoint["interval"] = min(max_iters, 1000)
    cfg.log_processor = {
        **(cfg.get("log_processor") or {"type": "LogProcessor"}),
        "by_epoch": False,
        "window_size": interval,
    }
