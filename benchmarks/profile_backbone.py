"""Where the time of a forward pass, or of a training step, goes, by kind of operation.

python benchmarks/profile_backbone.py --out benchmarks/results/profile.json

Times are torch's profiler's, of operators themselves without those they call, medians of several
steps. ``whole step`` is a step without the profiler: what is left is Python and allocation.
"""

import argparse
import itertools
import json
import shlex
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from bench.networks import Entrant, build_mmdet, build_ours, draw_weights, step
from bench.results import this_run
from torch.profiler import ProfilerActivity, profile, record_function

from swin_mm.ops.kernels import library

KINDS = {
    "matrix products": ("mm", "addmm", "_linear_pointwise", "mkldnn_convolution"),
    "attention, compiled": ("swin_mm_attend", "swin_mm_attend_backward"),
    "attention, fused": ("_scaled_dot_product_flash_attention_for_cpu",),
    "attention, written out": ("bmm", "_softmax", "_softmax_backward_data"),
    "norms, residuals and windows, compiled": tuple(
        f"swin_mm_{name}"
        for name in ("take_normed", "add_branch", "gradient_rows", "merge_normed", "norm_to_map")
    ),
    "GELU, compiled": ("swin_mm_gelu", "swin_mm_gelu_backward"),
    "copies": ("copy_", "cat", "index_select", "index_copy_", "index_fill_", "index", "fill_"),
    "norms": ("native_layer_norm", "native_layer_norm_backward"),
    "GELU": ("gelu", "gelu_", "gelu_backward"),
    "sums": ("add", "add_", "sum", "mul", "mul_"),
}
"""Names of operators without their namespaces, and of our kernels."""


def show_kernels() -> None:
    """Let the profiler see the compiled kernels, which are no operators of torch's."""
    kernels = library()
    for name in itertools.chain(*KINDS.values()):
        if kernels is not None and name.startswith("swin_mm_"):
            setattr(kernels, name, seen(name, getattr(kernels, name)))


def seen(name: str, function: Callable) -> Callable:
    """Give a function a name that the profiler reports."""

    def call(*args: object) -> object:
        with record_function(f"kernels::{name}"):
            return function(*args)

    return call


def profiled(entrant: Entrant, x: torch.Tensor, *, trains: bool, precision: str) -> Counter:
    """Profile one step, ms by kind of operation."""
    start = time.perf_counter()
    step(entrant, x, trains=trains, precision=precision)
    spent = Counter({"whole step": 1000 * (time.perf_counter() - start)})
    with profile(activities=[ProfilerActivity.CPU]) as found:
        step(entrant, x, trains=trains, precision=precision)
    by_name = {name: kind for kind, names in KINDS.items() for name in names}
    for event in found.key_averages():
        name = event.key.partition("::")[2]
        spent[by_name.get(name, "other")] += event.self_cpu_time_total / 1000
    return spent


def main() -> None:
    """Profile what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, nargs=2, default=(800, 1344), help="px")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--machine", help="the machine, in words")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    show_kernels()
    x, results = torch.randn(args.batch, 3, *args.size), {}
    state = draw_weights(build_ours("tiny")).state_dict()
    for trains, precision in itertools.product((False, True), ("fp32", "bf16 autocast")):
        for name in ("swin_mm", "mmdet"):
            net = build_ours("tiny") if name == "swin_mm" else build_mmdet("tiny", state)
            net.load_state_dict(state)
            net.train(trains)
            entrant, how = Entrant(net, net), {"trains": trains, "precision": precision}
            step(entrant, x, **how)
            rounds = [profiled(entrant, x, **how) for _ in range(args.rounds)]
            spent = {
                kind: round(statistics.median(one[kind] for one in rounds))
                for kind in ("whole step", *KINDS, "other")
            }
            cell = f"{'training' if trains else 'inference'}, {precision}, {name}"
            results[cell] = spent
            print(cell, spent, flush=True)
    if args.out:
        command = shlex.join(["python", *sys.argv])
        run = this_run(command, args.machine, args.threads)
        report = {"what": __doc__.partition("\n")[0], **run, "ms": results}
        args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
