"""What a run comes to in a few figures: how far, how long, how fast, how well."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from statistics import median

from mmengine.config import Config

from swin_mm.reporting.charts import as_share
from swin_mm.reporting.logs import RunLog

Fact = tuple[str, str]
# What is told first of a detector, and of a segmentor.
_TOLD = {
    "coco/bbox_mAP": "box AP",
    "coco/bbox_mAP_50": "box AP50",
    "coco/segm_mAP": "mask AP",
    "coco/segm_mAP_50": "mask AP50",
    "mIoU": "mIoU",
    "mAcc": "mean accuracy",
    "aAcc": "pixel accuracy",
}
_ENVIRONMENT = {
    "PyTorch": "torch",
    "TorchVision": "torchvision",
    "MMEngine": "MMEngine",
    "OpenCV": "OpenCV",
    "Python": "Python",
    "GPU 0": "GPU",
    "CUDA available": "CUDA",
    "NVCC": "nvcc",
    "seed": "seed",
    "Distributed launcher": "launcher",
    "GPU number": "processes",
}


def planned_iterations(cfg: Config | None, run: RunLog) -> int:
    """Say how many iterations a run was to take; 0 where it cannot be told."""
    loop = (cfg.get("train_cfg") if cfg else None) or {}
    return loop.get("max_iters") or (loop.get("max_epochs") or 0) * run.last_text.epoch_length


def state_of(run: RunLog, planned: int) -> str:
    """Say how far a run came, as a sentence."""
    if not run.train:
        return "No iteration was logged."
    done = run.last_step
    interval = done - int(run.train[-2]["step"]) if len(run.train) > 1 else done
    if not planned:
        return f"Logged up to iteration {done}."
    if done + interval > planned:
        return f"Finished: {planned} iterations."
    eta = f"; {run.last_text.eta} were left, by its own reckoning" if run.last_text.eta else ""
    return f"Stopped, or still running: the last iteration logged is {done} of {planned}{eta}."


def results_of(run: RunLog) -> list[Fact]:
    """Tell the metrics of the last validation, in per cent."""
    if not run.validations:
        return []
    last = run.validations[-1]
    shares = {name: as_share(last, key) for key, name in _TOLD.items()}
    return [(name, f"{share:.1f}") for name, share in shares.items() if share is not None]


def speed_of(run: RunLog, cfg: Config | None) -> list[Fact]:
    """Tell how fast a run was, and how long it took; the first row, with its warm-up, aside."""
    rows = run.train[1:] or run.train
    facts: list[Fact] = []
    timed = [row for row in rows if 0 < row.get("time", 0) < math.inf]
    times = [row["time"] for row in timed]
    if times:
        one = median(times)
        batch = ((cfg.get("train_dataloader") if cfg else None) or {}).get("batch_size", 0)
        processes = _processes(run)
        facts += [("iterations a second", f"{1 / one:.3g}"), ("an iteration", f"{one:.3g} s")]
        if batch:
            words = f"{batch * processes / one:.3g}"
            facts.append(("pictures a second", f"{words}, batches of {batch} x {processes}"))
    waits = [row["data_time"] for row in timed if math.isfinite(row.get("data_time", math.nan))]
    if waits and times:
        share = median(waits) / median(times)
        facts.append(("waiting for data", f"{median(waits):.3g} s an iteration, {share:.0%}"))
    memory = [row["memory"] for row in run.train if math.isfinite(row.get("memory", math.nan))]
    facts.append(("GPU memory, peak", f"{max(memory):.0f} MB" if memory else "not logged (no GPU)"))
    lasted = sum((start.text.lasted for start in run.starts), timedelta())
    if lasted:
        facts.append(("from the first log line to the last", duration(lasted)))
    if run.last_text.eta and run.last_text.eta not in ("0:00:00", "0"):
        facts.append(("left, as last logged", run.last_text.eta))
    return facts


def _processes(run: RunLog) -> int:
    found = re.search(r"^\s*GPU number: (\d+)", run.last_text.environment, re.MULTILINE)
    return int(found[1]) if found else 1


def environment_of(run: RunLog) -> list[Fact]:
    """Pick from MMEngine's account of the environment what people ask for first."""
    lines = (line.strip().partition(": ") for line in run.last_text.environment.splitlines())
    told = {key: value for key, _, value in lines}
    return [(name, told[key]) for key, name in _ENVIRONMENT.items() if told.get(key)]


def duration(span: timedelta) -> str:
    """Write a span as 1 d 2 h 3 min, or 12 s."""
    seconds = int(span.total_seconds())
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    words = []
    for unit, length in units:
        count, seconds = divmod(seconds, length)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words[:2]) or "0 s"
