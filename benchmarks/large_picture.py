"""Measure the memory that tools/infer.py takes for one very large picture.

A tiny detector with masks and a tiny segmentor of 150 classes, of random weights, look at a drawn
picture of SIDE x SIDE px by tiles, each in a fresh process: what is left is the memory of the
picture, of what is found in it, and of Python, torch and the host. The peak is of the whole
process, as the kernel counts it (Linux). Seconds say nothing: the networks are tiny.

python benchmarks/large_picture.py --side 20000 --out benchmarks/results/large_picture.json
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from bench.results import commit, this_machine, versions

ROOT = Path(__file__).parents[1]
LIMIT = 4 * 2**30  # bytes, what a picture of 20,000 x 20,000 px should stay below
_BACKBONE = {
    "model.backbone.embed_dims": 8,
    "model.backbone.depths": [1, 1, 2, 1],
    "model.backbone.num_heads": [1, 1, 2, 2],
    "model.backbone.init_cfg": None,
    "test_dataloader.dataset.pipeline.1.scale": (128, 128),
}
TASKS = {
    "detection": (
        "configs/mask_rcnn_swin_t.py",
        _BACKBONE
        | {
            "model.neck.out_channels": 8,
            "model.roi_head.bbox_head.fc_out_channels": 8,
            "model.test_cfg.rpn.max_per_img": 20,
            "model.test_cfg.rcnn.score_thr": 0.0,
            "model.test_cfg.rcnn.max_per_img": 20,
        },
    ),
    "segmentation": (
        "configs/upernet_swin_t.py",
        _BACKBONE | {"model.decode_head.channels": 8, "model.auxiliary_head.channels": 8},
    ),
}


def draw(side: int, path: Path) -> None:
    """Draw a picture of scenes, side by side."""
    import cv2
    import numpy as np

    from swin_mm.data import render_scene

    scenes = np.concatenate([render_scene(0, index, size=(1000, 1000)).image for index in range(3)])
    across = np.concatenate([np.roll(scenes, 1000 * column, 0) for column in range(3)], 1)
    times = -(-side // 3000)
    picture = np.tile(across, (times, times, 1))[:side, :side]
    cv2.imwrite(str(path), picture)


def save_model(task: str, path: Path) -> None:
    """Save a tiny model of random weights."""
    from mmengine.registry import MODELS
    from mmengine.runner import save_checkpoint

    from swin_mm.engine.predicting import configure

    config, options = TASKS[task]
    torch.manual_seed(0)
    cfg, _ = configure(str(ROOT / config), options, device="cpu")
    model = MODELS.build(cfg.model)
    save_checkpoint({"meta": {}, "state_dict": model.state_dict()}, str(path))


def measure(task: str, picture: Path, checkpoint: Path, out: Path, *words: str) -> dict:
    """Look at a picture in a fresh process.

    Returns:
        Peak of its memory, bytes, and its seconds.

    Raises:
        RuntimeError: with its last words, if it fails.
    """
    config, options = TASKS[task]
    settings = [f"{key}={value}".replace(" ", "") for key, value in options.items()]
    line = [config, str(checkpoint), str(picture), "--out", str(out), "--device", "cpu", *words]
    command = [sys.executable, "-W", "ignore", "tools/infer.py", *line, "--cfg-options", *settings]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode:
            raise RuntimeError(f"{task} ended with {process.returncode}: {said.read()[-800:]}")
    return {"peak": used.ru_maxrss * 1024, "seconds": round(time.monotonic() - begun, 1)}


def found_in(out: Path) -> dict:
    """Count what a job has written."""
    predictions = out / "predictions.json"
    files = {str(path.relative_to(out)): path for path in out.rglob("[!.]*.*")}
    found: dict = {"files_mb": {name: _mb(path.stat().st_size) for name, path in files.items()}}
    if predictions.exists():
        found["instances"] = len(json.loads(predictions.read_text()))
    return found


def main() -> None:
    """Parse the command line, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--side", type=int, default=20_000, help="px (20000)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--out", type=Path, help="write the results here")
    parser.add_argument("--work-dir", type=Path, help="keep picture, models and predictions here")
    args = parser.parse_args()
    if args.side < 1024:
        parser.error(f"a large picture has at least 1024 px a side, got {args.side}")
    with tempfile.TemporaryDirectory() as passing:
        folder = args.work_dir or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        results = {task: _one(task, args.side, folder) for task in args.tasks}
    told = {
        "what": re.sub(r"\s+", " ", __doc__.partition("python ")[0]).strip(),
        "command": f"python benchmarks/large_picture.py --side {args.side}",
        "commit": commit(),
        "machine": this_machine(),
        "versions": versions(),
        "limit_mb": _mb(LIMIT),
        "results": results,
    }
    text = json.dumps(told, indent=2)
    print(text)
    if args.out:
        part = args.out.with_name(args.out.name + ".part")
        part.write_text(f"{text}\n")
        part.replace(args.out)


def _one(task: str, side: int, folder: Path) -> dict:
    picture, checkpoint, out = folder / "large.jpg", folder / f"{task}.pth", folder / task
    if not picture.exists():
        draw(side, picture)
    save_model(task, checkpoint)
    words = ["--score-thr", "0"] if task == "detection" else []  # all instances are drawn
    result = measure(task, picture, checkpoint, out, "--tile", "1024", "--force", *words)
    peak = _mb(result.pop("peak"))
    return {
        "side": side,
        "picture_mb": _mb(3 * side**2),
        "peak_mb": peak,
        **result,
        **found_in(out),
    }


def _mb(size: int) -> float:
    return round(size / 2**20, 1)


if __name__ == "__main__":
    main()
