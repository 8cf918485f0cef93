"""Export full-size networks in every format, and record how near each is to the eager network.

Weights are random, drawn so that no table or norm is blind; the sizes are those of tools/export.py
and 200x333 px. Nothing is timed.
"""

import argparse
import contextlib
import io
import json
import platform
import re
import shlex
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import torch

from swin_mm.engine.predicting import configure
from swin_mm.export import SUFFIXES, TARGETS, export, load_part

ROOT = Path(__file__).parents[1]
PACKAGES = ("torch", "onnx", "onnxscript", "onnxruntime", "openvino")
# Config, part, settings of the backbone.
CASES = {
    "Swin-T": ("mask_rcnn_swin_t", "backbone", {}),
    "Swin-S": ("mask_rcnn_swin_t", "backbone", {"variant": "small"}),
    "Swin-B, window 12": ("mask_rcnn_swin_t", "backbone", {"variant": "base", "window_size": 12}),
    "Swin-L, window 12": ("mask_rcnn_swin_t", "backbone", {"variant": "large", "window_size": 12}),
    "SwinV2-T": ("upernet_swinv2_t", "backbone", {}),
    "Mask R-CNN's pyramid, Swin-T": ("mask_rcnn_swin_t", "neck", {}),
    "UPerNet, Swin-T": ("upernet_swin_t", "model", {}),
    "UPerNet, SwinV2-T": ("upernet_swinv2_t", "model", {}),
    "Semantic FPN, Swin-T": ("sem_fpn_swin_t", "model", {}),
}


def main() -> None:
    """Export each, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=CASES, help="one of them; repeatable")
    parser.add_argument("--to", action="append", choices=TARGETS, help="a format; repeatable")
    parser.add_argument("--machine", default=platform.machine(), help="in words, for the record")
    parser.add_argument("--out", type=Path, help="file to write, or to add to, beside the screen")
    args = parser.parse_args()
    there = bool(args.out) and args.out.exists()
    results = json.loads(args.out.read_text())["results"] if there else {}
    for case in args.case or CASES:
        for target in args.to or TARGETS:
            results.setdefault(case, {})[target] = one(case, target)
            print(case, target, json.dumps(results[case][target]), flush=True)
            if args.out:
                write(args.out, args.machine, results)


def one(case: str, target: str) -> dict:
    """Export a case; returns errors by size, and the bytes written."""
    name, part, backbone = CASES[case]
    options = {f"model.backbone.{key}": value for key, value in backbone.items()}
    if part == "backbone":
        options["model.neck"] = None  # whose channels would have to follow
    with contextlib.redirect_stdout(io.StringIO()):
        cfg, _ = configure(str(ROOT / f"configs/{name}.py"), options, device="cpu")
    network, description = load_part(cfg, None, part)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            change = torch.empty_like(parameter).normal_(std=0.02, generator=generator)
            parameter.add_(change)
    with tempfile.TemporaryDirectory() as folder:
        done = export(
            network,
            Path(folder) / f"network{SUFFIXES[target]}",
            to=target,
            description=description,
            image_size=(200, 333),
        )
        size = sum(file.stat().st_size for file in done.files)
    errors = {
        "{}x{}x{}".format(*row.size): float(f"{row.error:.1e}") for row in done.comparison.rows
    }
    return {"largest error / value": errors, "megabytes": round(size / 1e6, 1)}


def write(out: Path, machine: str, results: dict) -> None:
    """Write beside and rename."""
    commit = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    cases = " ".join(f"--case {shlex.quote(case)}" for case in results)
    record = {
        "what": "exported networks of full size beside the eager network, float32 on the CPU: the "
        "largest difference by an output's largest value, at batch x height x width, px",
        "command": f"python benchmarks/export.py {cases} --out {out}",
        "commit": subprocess.run(commit, capture_output=True, text=True).stdout.strip(),
        "machine": machine,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "results": results,
    }
    text = json.dumps(record, indent=1)
    text = re.sub(r"\{[^{}]*\}(?=,\n +\"mega)", lambda one: " ".join(one[0].split()), text)
    beside = out.with_name(f".{out.name}.part")
    beside.write_text(f"{text}\n")
    beside.replace(out)


if __name__ == "__main__":
    main()
