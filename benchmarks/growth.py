"""Memory that stays when every picture has another size: what 50 leave, and what 1000 leave.

python benchmarks/growth.py --machine 'yours, in words' --out benchmarks/results/growth.json

Every figure comes from a process of its own, of one thread. The sides of its pictures are random,
mostly small, which is quick; the last before each reading is the largest, so that both readings
follow the same. `resident` is the process's memory as the system counts it, `held` the same after
glibc gave back what nobody uses (Linux). oneDNN keeps the 1024 newest of its compiled operations, a
new one for every shape; `--onednn-keeps` says how many it may, and tells its part from ours.
"""

import argparse
import ctypes
import gc
import json
import math
import os
import platform
import random
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import nn

NARROW = {"embed_dims": 8, "depths": (2,), "num_heads": (1,), "strides": (4,), "out_indices": (0,)}
NETWORKS = ("swin_mm", "mmdet", "narrow")
TASKS = ("inference", "training", "training with_cp")
PRECISIONS = ("fp32", "bf16 autocast")
EARLY = 50


def build(network: str, task: str) -> nn.Module:
    """Build a Swin-T of ours or of MMDetection's, or a narrow one for a quick look."""
    torch.manual_seed(0)
    with_cp = task == "training with_cp"
    if network == "mmdet":
        from mmdet.models.backbones.swin import SwinTransformer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = SwinTransformer(with_cp=with_cp)
    else:
        import swin_mm

        net = swin_mm.SwinTransformer(**(NARROW if network == "narrow" else {}), with_cp=with_cp)
    net.train(task != "inference")
    return net


def sizes(number: int, longest: int) -> list[tuple[int, int]]:
    """Draw heights and widths, px; those before a reading are the largest."""
    draw = random.Random(0)
    drawn = [
        tuple(round(math.exp(math.log(longest) * draw.random() ** 1.5)) for _ in range(2))
        for _ in range(number)
    ]
    drawn[EARLY - 1] = drawn[-1] = longest, longest
    return drawn


def step(net: nn.Module, size: tuple[int, int], task: str, precision: str) -> None:
    """Show the network a picture, and train it unless it infers."""
    cast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16 autocast")
    with torch.set_grad_enabled(task != "inference"), cast:
        maps = net(torch.randn(1, 3, *size))
    if task != "inference":
        torch.autograd.backward(list(maps), [torch.ones_like(one) for one in maps])
        for parameter in net.parameters():
            parameter.grad = None


def megabytes() -> dict[str, float]:
    """Read what this process takes, before and after the allocator gave back what is free."""
    gc.collect()
    found = {"resident": resident()}
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return {**found, "held": resident()}


def resident() -> float:
    """Memory of this process that is not swapped out, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def kept() -> dict[str, dict[str, float]]:
    """What our caches hold and may hold, MB, each tensor counted anew."""
    from swin_mm.ops.chunks import CHUNKS
    from swin_mm.ops.mask_cache import MASKS

    found = {}
    for name, cache in {"chunks": CHUNKS._cache, "masks": MASKS._cache}.items():
        values = [value for value, _ in cache._values.values() if value is not None]
        total = sum(
            one.nbytes for value in values for one in (value if type(value) is list else [value])
        )
        found[name] = {"holds": round(total / 2**20, 2), "limit": cache.limit / 2**20}
    return found


def measure(cell: dict) -> dict:
    """In a process of its own: go through the sizes, and read the memory twice."""
    torch.set_num_threads(1)
    net = build(cell["network"], cell["task"])
    early = None
    for number, size in enumerate(sizes(cell["sizes"], cell["longest"]), start=1):
        step(net, size, cell["task"], cell["precision"])
        if number == EARLY:
            early = megabytes()
    late = megabytes()
    found = {f"after {EARLY}": early, f"after {cell['sizes']}": late}
    found["difference"] = {name: round(late[name] - early[name], 1) for name in late}
    return found if cell["network"] == "mmdet" else {**found, "kept": kept()}


def start(cell: dict) -> dict:
    """Measure in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if cell["onednn keeps"] is not None:  # its own cache, and that of torch's layer above it
        for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
            environment[name] = str(cell["onednn keeps"])
    done = subprocess.run(
        [sys.executable, __file__, "--cell", json.dumps(cell)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machine", default="not said", help="the machine, in words")
    parser.add_argument("--networks", nargs="+", default=NETWORKS[:1], choices=NETWORKS)
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS[:1], choices=PRECISIONS)
    parser.add_argument("--sizes", type=int, default=1000, metavar="N", help="more than 50 (1000)")
    parser.add_argument("--longest", type=int, default=1333, metavar="PX", help="side (1333)")
    parser.add_argument("--onednn-keeps", type=int, metavar="N", help="operations (1024)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once (2)")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cell", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.sizes <= EARLY:
        parser.error(f"--sizes must be more than {EARLY}")
    if args.cell:
        print(json.dumps(measure(args.cell)))
        return
    cells = {
        f"{network}, {task}, {precision}": {
            "network": network,
            "task": task,
            "precision": precision,
            "sizes": args.sizes,
            "longest": args.longest,
            "onednn keeps": args.onednn_keeps,
        }
        for network in args.networks
        for task in args.tasks
        for precision in args.precisions
    }
    with ThreadPoolExecutor(args.jobs) as pool:
        results = dict(zip(cells, pool.map(start, cells.values()), strict=True))
    for name, found in results.items():
        print(f"{name:<36} {found['difference']}", flush=True)
    from swin_mm.doctor.packages import installed  # not in the measuring processes

    (mmdet,) = installed()["mmdet"]
    commit = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    report = {
        "what": f"Resident memory, MB, after {EARLY} and {args.sizes} random sizes to "
        f"{args.longest} px, fresh processes of one thread; held: after malloc_trim",
        "command": " ".join(["python benchmarks/growth.py", *sys.argv[1:]]),
        "commit": subprocess.run(commit, capture_output=True, text=True).stdout.strip(),
        "machine": args.machine,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            mmdet.name: mmdet.version,
        },
        "results": results,
    }
    if args.out:
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
