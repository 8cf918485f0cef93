"""The first full-size training step of every config, one picture, each in a process of its own.

python benchmarks/zoo.py --out benchmarks/results/zoo.json

The smallest come first, and the file is written after each; the same command goes on where it was
stopped. A step whose process outgrows --limit is ended and noted as not fitting. Linux.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from bench.memory import resident_peak
from bench.results import ROOT, this_run
from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.optim import build_optim_wrapper
from mmengine.registry import MODELS
from mmengine.runner import Runner
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from swin_mm.data import write_scenes
from swin_mm.engine.config import import_host, read_config
from swin_mm.engine.datasets import point_data_at
from swin_mm.engine.launch import Device, use_device
from swin_mm.engine.notes import Notes

CONFIGS = sorted(path.stem for path in (ROOT / "configs").glob("*.py"))
WHAT = {
    "what": "one training step, float32: forward, backward, clipping, optimizer; the picture is a "
    "drawn scene at the largest size that the recipe resizes to, or one crop; random weights",
    "seconds": "of a first step, which allocates what later ones find",
    "peak MB": "resident memory of the process, 2 ** 20 bytes; 'above the model MB' is what the "
    "step adds to network and picture: activations, gradients, the optimizer's moments",
    "norms": "SyncBN is BN; one that meets a single number a channel uses its running statistics, "
    "as one picture has nothing to normalise by",
}
SCENES = (640, 480)  # px, as most of COCO's photographs
WATCHED = 0.2  # seconds between two looks at a process's memory
STEP = (sys.executable, "-W", "ignore", str(Path(__file__)), "--step")


def largest(steps: Sequence[Mapping]) -> list[dict]:
    """Let a pipeline take the largest of its sizes, and the first of its ways, each time."""
    found: list[dict] = []
    for step in steps:
        if step["type"] == "RandomChoice":
            found += largest(step["transforms"][0])
        elif step["type"] == "RandomChoiceResize":
            size = max(step["scales"], key=lambda one: one if isinstance(one, int) else min(one))
            found.append({**step, "scales": [size]})
        else:
            found.append(dict(step))
    return found


def take_step(cfg: Config, data: Path) -> dict:
    """Build what a config describes, take one step, and tell what it took.

    Args:
        cfg: the config.
        data: scenes, in both layouts.

    Returns:
        The picture's size, seconds, memory in MB and the loss.
    """
    for draw in (torch.manual_seed, np.random.seed, random.seed):
        draw(0)
    MMLogger.get_current_instance().setLevel("WARNING")  # no line for each parameter
    batch = _first_batch(cfg, data)
    cfg.model.backbone.pop("init_cfg", None)
    use_device(Device("cpu", "by intention"), cfg, Notes(False))
    model = MODELS.build(cfg.model)
    model.init_weights()
    model.train()
    for norm in model.modules():
        if isinstance(norm, _BatchNorm):
            norm.register_forward_pre_hook(_spare_single)
    optimizer = build_optim_wrapper(model, cfg.optim_wrapper)
    batch = model.data_preprocessor(batch, True)
    Path("/proc/self/clear_refs").write_text("5")  # peaks start anew
    before = resident_peak()
    start = time.perf_counter()
    with optimizer.optim_context(model):
        loss, _ = model.parse_losses(model(**batch, mode="loss"))
    optimizer.update_params(loss)
    seconds = time.perf_counter() - start
    peak = resident_peak()
    return {
        "picture": "{}x{}".format(*batch["inputs"].shape[-2:]),
        "seconds": round(seconds, 2),
        "peak MB": round(peak / 2**20),
        "above the model MB": round((peak - before) / 2**20),
        "loss": float(loss),
        "finite": math.isfinite(float(loss)) and _is_finite(model),
    }


def _first_batch(cfg: Config, data: Path) -> dict:
    point_data_at(cfg, str(data), ("train",), Notes(False))
    import_host(cfg)
    loader = cfg.train_dataloader
    loader.dataset.pipeline = largest(loader.dataset.pipeline)
    loader.update(batch_size=1, num_workers=0, persistent_workers=False)
    return next(iter(Runner.build_dataloader(loader, seed=0)))


def _spare_single(norm: nn.Module, inputs: tuple) -> None:
    norm.train(inputs[0].numel() > inputs[0].shape[1])


def _is_finite(model: nn.Module) -> bool:
    return all(bool(one.isfinite().all()) for one in model.parameters())


def watch(words: Sequence[str], limit: float) -> dict:
    """Run a step in a process of its own and end it if it outgrows the limit.

    Args:
        words: its command line; what it prints last is read as JSON.
        limit: resident memory, GiB.

    Returns:
        What it printed, or `why not`.

    Raises:
        RuntimeError: with the process's last words, if it fails.
    """
    places = [str(ROOT / "benchmarks"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(words, env=environment, stdout=told, stderr=said)
        try:
            fits = _stays_below(process, limit * 2**30)
        finally:
            process.kill()
            process.wait()
        if not fits or process.returncode == -9:  # by us, or by a system out of memory
            return {"why not": f"does not fit {limit:g} GiB"}
        said.seek(0)
        told.seek(0)
        if process.returncode:
            raise RuntimeError(said.read().strip()[-800:])
        return json.loads(told.read().splitlines()[-1])


def _stays_below(process: subprocess.Popen, limit: float) -> bool:
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            continue  # it has just ended
        if "VmRSS:" in status and 1024 * int(status.split("VmRSS:")[1].split()[0]) > limit:
            return False
        time.sleep(WATCHED)
    return True


def in_order(names: Sequence[str]) -> list[str]:
    """Put the smallest networks first."""
    params = {name: read_config(str(ROOT / "configs" / f"{name}.py")).zoo.params for name in names}
    return sorted(params, key=lambda name: (params[name], name))


def write(file: Path, report: Mapping) -> None:
    """Write beside and rename, so that a file is always whole; a line for each config."""
    file.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({key: value for key, value in report.items() if key != "steps"}, indent=1)
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(step)}" for name, step in report["steps"].items()
    )
    text = head.removesuffix("\n}") + f',\n "steps": {{\n{lines}\n }}\n}}\n'
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path, help="file of results, read first and added to")
    parser.add_argument("--configs", nargs="+", choices=CONFIGS, metavar="NAME", default=CONFIGS)
    parser.add_argument("--again", action="store_true", help="also what the file holds already")
    parser.add_argument("--limit", type=float, default=22.0, help="of memory, GiB (22)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--machine", help="in words; its processor and cores otherwise")
    parser.add_argument("--step", choices=CONFIGS, metavar="NAME", help="one step, in this process")
    parser.add_argument("--data", type=Path, help="for --step: scenes, in both layouts")
    args = parser.parse_args(words)
    if args.limit <= 0 or args.threads < 1:
        parser.error("--limit must be above 0 and --threads at least 1")
    if args.step is not None and args.data is None:
        parser.error("--step needs --data")
    return args


def main(words: Sequence[str]) -> int:
    """Take the steps that are not in the file yet; tell which failed."""
    args = parse(words)
    if args.step is not None:
        warnings.simplefilter("ignore")  # the hosts' own
        torch.set_num_threads(args.threads)
        cfg = read_config(str(ROOT / "configs" / f"{args.step}.py"))
        print(json.dumps(take_step(cfg, args.data)))
        return 0
    report: dict = {**WHAT, "runs": [], "steps": {}}
    if args.out is not None and args.out.exists():
        held = json.loads(args.out.read_text(encoding="utf-8"))
        report |= {"runs": held["runs"], "steps": held["steps"]}
    command = shlex.join(["python", "benchmarks/zoo.py", *words])
    run = {**this_run(command, args.machine, args.threads), "limit GiB": args.limit}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        scenes = Path(folder) / "scenes"
        write_scenes(scenes, train=2, val=1, seed=0, size=SCENES, jobs=1)
        for name in in_order(args.configs):
            if name in report["steps"] and not args.again:
                continue
            threads = ["--threads", str(args.threads)]
            try:
                found = watch([*STEP, name, "--data", str(scenes), *threads], args.limit)
            except RuntimeError as error:
                print(f"{name}: failed: {error}", file=sys.stderr, flush=True)
                failed += 1
                continue
            if run not in report["runs"]:
                report["runs"].append(run)
            report["steps"][name] = {**found, "run": report["runs"].index(run)}
            print(name, found, flush=True)
            if args.out is not None:
                write(args.out, report)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
