"""Time and memory of the backbone beside MMDetection's, with the same weights and pictures.

python benchmarks/backbone.py --machine 'yours, in words' --out benchmarks/results/backbone.json

Networks take turns in every round, first one then the other; ratios are of medians. `floor` is the
network's linear layers alone, run back to back on tensors of the shapes that they meet. Memory is
the peak of resident memory above the built model, each figure from a process of its own (Linux).
"""

import argparse
import contextlib
import json
import multiprocessing
import platform
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor, nn

import swin_mm

CASES = {"800x1344 b1": (1, 800, 1344), "512x512 b2": (2, 512, 512), "224x224 b8": (8, 224, 224)}
PRECISIONS = ("fp32", "bf16 autocast")
TASKS = ("inference", "training", "training with_cp")


def build(network: str, *, with_cp: bool = False) -> nn.Module:
    """Build a Swin-T of ours or of MMDetection's."""
    torch.manual_seed(0)
    if network == "swin_mm":
        return swin_mm.SwinTransformer(variant="tiny", with_cp=with_cp, drop_path_rate=0.0)
    from mmdet.models.backbones.swin import SwinTransformer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SwinTransformer(with_cp=with_cp, drop_path_rate=0.0)


def pair(task: str) -> dict[str, nn.Module]:
    """Build both with the same weights; MMDetection's never recomputes, which is faster."""
    nets = {
        "swin_mm": build("swin_mm", with_cp=task == "training with_cp"),
        "mmdet": build("mmdet"),
    }
    nets["mmdet"].load_state_dict(nets["swin_mm"].state_dict())
    for net in nets.values():
        net.train(task != "inference")
    return nets


def precision(name: str) -> contextlib.AbstractContextManager:
    """Enter autocast where it is asked for."""
    return torch.autocast("cpu", torch.bfloat16, enabled=name == "bf16 autocast")


def step(net: nn.Module, x: Tensor, task: str, kind: str) -> None:
    """Do what is timed once."""
    with torch.set_grad_enabled(task != "inference"), precision(kind):
        maps = list(net(x))
    if task != "inference":
        torch.autograd.backward(maps, [torch.ones_like(one) for one in maps])
        for parameter in net.parameters():
            parameter.grad = None


def seconds(call: Callable[[], None]) -> float:
    """Time a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def time_case(shape: tuple[int, int, int], task: str, kind: str, rounds: int) -> dict:
    """Let both networks, and the floor for inference, take turns."""
    nets, x = pair(task), torch.randn(shape[0], 3, *shape[1:])
    calls = {name: lambda net=net: step(net, x, task, kind) for name, net in nets.items()}
    if task == "inference":
        calls["floor"] = floor(nets["swin_mm"], x, kind)
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            times[name].append(round(seconds(calls[name]), 4))
    medians = {name: statistics.median(values) for name, values in times.items()}
    found = {
        "seconds": times,
        "median": medians,
        "mmdet / swin_mm": round(medians["mmdet"] / medians["swin_mm"], 2),
    }
    if "floor" in medians:
        found["swin_mm / floor"] = round(medians["swin_mm"] / medians["floor"], 2)
    return found


def floor(net: nn.Module, x: Tensor, kind: str) -> Callable[[], None]:
    """Make a call of all linear layers, the patch convolution as one, at the shapes they meet."""
    met: list[tuple[nn.Module, Tensor]] = []

    def note(layer: nn.Module, given: tuple[Tensor, ...], _: Tensor) -> None:
        met.append((layer, torch.randn(given[0].shape)))

    layers = [m for m in net.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    handles = [layer.register_forward_hook(note) for layer in layers]
    with torch.no_grad():
        net(x)
    for handle in handles:
        handle.remove()

    def call() -> None:
        with torch.no_grad(), precision(kind):
            for layer, given in met:
                layer(given)

    return call


def resident() -> int:
    """Bytes of this process's memory in use at its peak since the last reset."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def measure_memory(network: str, shape: tuple[int, int, int], task: str, kind: str, out) -> None:
    """In a process of its own: send the peak above the built model, bytes."""
    torch.set_num_threads(2)
    net = build(network, with_cp=task == "training with_cp" and network == "swin_mm")
    net.train(task != "inference")
    x = torch.randn(shape[0], 3, *shape[1:])
    step(net, torch.randn(1, 3, 64, 64), task, kind)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()
    step(net, x, task, kind)
    out.put(resident() - before)


def memory(network: str, shape: tuple[int, int, int], task: str, kind: str) -> int:
    """Measure in a process of its own, MB."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    process = context.Process(target=measure_memory, args=(network, shape, task, kind, out))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"measuring memory of {network}, {task}, {kind} failed")
    return round(out.get() / 2**20)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="not said", help="the machine, in words")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(2)
    results: dict[str, dict] = {}
    for task in args.tasks:
        for kind in args.precisions:
            for case in args.cases:
                rounds = args.rounds if task == "inference" else max(args.rounds // 2, 2)
                found = time_case(CASES[case], task, kind, rounds)
                used = {
                    name: memory(name, CASES[case], task, kind) for name in ("mmdet", "swin_mm")
                }
                found["peak MB"] = used
                found["memory swin_mm / mmdet"] = round(used["swin_mm"] / used["mmdet"], 2)
                results[f"{task}, {kind}, {case}"] = found
                print(
                    f"{task:<17} {kind:<14} {case:<12} mmdet / swin_mm "
                    f"{found['mmdet / swin_mm']:.2f}, memory {found['memory swin_mm / mmdet']:.2f}"
                    + (
                        f", floor {found['swin_mm / floor']:.2f}"
                        if "swin_mm / floor" in found
                        else ""
                    ),
                    flush=True,
                )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    report = {
        "what": "Swin-T backbone beside MMDetection's, medians of turns; memory above the model",
        "command": f"python benchmarks/backbone.py --rounds {args.rounds}",
        "commit": commit,
        "machine": args.machine,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "onedl-mmdetection": version("onedl-mmdetection"),
        },
        "results": results,
    }
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
