"""One of several processes that train models in parallel; started by tests/distributed/test_ddp.py.

Arguments: rank, a file to meet at, a folder for results, and the cases by name as JSON.
"""

import json
import sys
from pathlib import Path

import torch
from gloo_ranks import RANKS, together
from torch.nn.parallel import DistributedDataParallel
from toy_training import Case, build, outcome


def run(rank: int, folder: Path, name: str, case: Case) -> None:
    """Train a case; the first process writes what came of it."""
    model = DistributedDataParallel(build(case), find_unused_parameters=False)
    found = outcome(case, model, rank=rank, ranks=RANKS)
    if rank == 0:
        torch.save(found, folder / f"{name}.pth")


with together(int(sys.argv[1]), sys.argv[2]):
    for name, options in json.loads(sys.argv[4]).items():
        run(int(sys.argv[1]), Path(sys.argv[3]), name, Case(**options))
