"""Time and memory of the backbone beside other Swins, with the same weights and pictures.

python benchmarks/backbone.py --out benchmarks/results/backbone.json
PYTHONPATH=. .peers/runtimes/bin/python benchmarks/backbone.py --out benchmarks/results/backbone_peers.json \
    --peers timm torchvision huggingface openvino onnxruntime

The first runs beside MMDetection's, in the main environment, the second beside everybody else's, in
that of `make peers`. The file is written after each cell; run again with the same --out, cells that
it holds are left as they are. Without --tasks, --precisions, --variants and --cases the whole plan
runs, or the --parts of it that are named; with any of them, all combinations of what they name,
Swin-T's inference and training in every precision at the three sizes where they name nothing.
"""  # noqa: E501

import argparse
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch
from bench.cells import (
    PARTS,
    PEER_PARTS,
    PEERS,
    PRECISIONS,
    TASKS,
    VARIANTS,
    Cell,
    Part,
    as_case,
)
from bench.entrants import Exports
from bench.measure import NotComparable, Settings, compile_from_scratch, measure_cell
from bench.results import Results, this_run


def case(words: str) -> str:
    """Turn a mistyped case into argparse's error."""
    try:
        return as_case(words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--out", type=Path, help="file of results, read first and added to")
    parser.add_argument("--peers", nargs="+", default=["mmdet"], choices=PEERS)
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="of the plan")
    parser.add_argument("--tasks", nargs="+", choices=TASKS)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS)
    parser.add_argument("--cases", nargs="+", type=case, help="height x width b pictures")
    parser.add_argument("--rounds", type=int, default=3, help="at least")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="more rounds until a cell took as long"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-memory", action="store_true", help="times alone")
    parser.add_argument("--again", action="store_true", help="also what the file holds already")
    parser.add_argument("--list", action="store_true", help="print the cells and stop")
    parser.add_argument("--machine", help="in words; its processor and cores otherwise")
    args = parser.parse_args(words)
    if args.rounds < 1 or args.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    return args


def plan(args: argparse.Namespace) -> list[Cell]:
    """List the cells that are asked for, each once."""
    named = {
        name: getattr(args, name)
        for name in ("tasks", "precisions", "variants", "cases")
        if getattr(args, name)
    }
    if named:
        return list(dict.fromkeys(Part(**named).cells(args.peers)))
    cells: dict[Cell, None] = {}
    for peer in args.peers:
        parts = PARTS if peer == "mmdet" else PEER_PARTS
        for name in args.parts or parts:
            for part in parts.get(name, ()):
                cells |= dict.fromkeys(part.cells([peer]))
    return list(cells)


def tell(cell: Cell, found: dict, took: float) -> None:
    """Print a line for a cell."""
    figures = [f"{name} {value:.2f}" for name, value in found.items() if " / " in name]
    if "seconds" in found:
        figures.insert(0, f"{found['seconds']['swin_mm']['median']:.3f} s")
    figures += [f"{name}: {why}" for name, why in found.get("why not", {}).items()]
    print(f"{cell}: {', '.join(figures)} ({took:.0f} s)", flush=True)


def run(cells: Iterable[Cell], settings: Settings, results: Results) -> list[str]:
    """Measure cell by cell; go on where one fails, and return what was said then."""
    failures = []
    for cell in cells:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as fresh:
            if cell.compiled:
                compile_from_scratch(fresh)
            try:
                found = measure_cell(cell, settings)
            except NotComparable as error:
                failures.append(str(error))
                print(f"FAILED {error}", flush=True)
                continue
        results.add(cell, found)
        tell(cell, found, time.perf_counter() - start)
    return failures


def main(words: list[str]) -> int:
    """Measure what is asked for and the file does not hold."""
    args = parse(words)
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")  # the peers' own
    command = shlex.join(["python", "benchmarks/backbone.py", *words])
    results = Results(args.out, this_run(command, args.machine, args.threads))
    cells = [cell for cell in plan(args) if args.again or cell not in results]
    if args.list:
        print("\n".join(map(str, cells)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            seconds=args.seconds,
            least=args.rounds,
            threads=args.threads,
            exports=Exports(Path(folder)),
            memory=not args.no_memory,
        )
        return 1 if run(cells, settings, results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
