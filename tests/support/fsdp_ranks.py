"""One of several processes that share parameters; started by tests/distributed/test_fsdp.py.

Arguments: rank, a file to meet at, a folder for results, and by name as JSON what is wrapped apart,
whether parameters are gathered in bf16, and the case.
"""

import json
import sys
from pathlib import Path

import torch
from gloo_ranks import RANKS, together
from torch import distributed, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from toy_training import STEPS, Case, build, optimizer_of, outcome, take_steps, weights_of

from swin_mm.checkpoints import read_checkpoint, save_checkpoint

HALF_WAY = 3


def shard(case: Case, *, apart: str, mixed: bool, fresh: bool = True) -> nn.Module:
    """Build a case's model, and divide its parameters among the processes.

    Args:
        case: what to build.
        apart: whose parameters are gathered together: `blocks`, `stages` or the `model`.
        mixed: whether they are gathered, and computed with, in bf16.
        fresh: whether it has the case's weights; else they are all zero.
    """
    model = build(case)
    if not fresh:
        for parameter in model.parameters():
            parameter.data.zero_()
    low = torch.bfloat16 if mixed else None
    high = torch.float32 if mixed else None
    inner = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=high)
    outer = MixedPrecisionPolicy(param_dtype=low, reduce_dtype=high, output_dtype=high)
    mesh = init_device_mesh("cpu", (RANKS,))
    stages = model.backbone.stages
    parts = {"blocks": [b for s in stages for b in s.blocks], "stages": stages, "model": []}
    for part in parts[apart]:
        fully_shard(part, mesh=mesh, mp_policy=inner)
    return fully_shard(model, mesh=mesh, mp_policy=outer)


def stop_and_go_on(case: Case, file: Path, *, rank: int, **how: object) -> dict[str, torch.Tensor]:
    """Train half the way, save, train the rest with another model; returns its weights."""
    model = shard(case, **how)
    optimizer = optimizer_of(model)
    place = {"rank": rank, "ranks": RANKS}
    for _ in take_steps(case, model, optimizer, steps=range(HALF_WAY), **place):
        pass
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights, moments = get_state_dict(model, optimizer, options=whole)
    if rank == 0:
        save_checkpoint({"state_dict": weights, "optimizer": moments}, file)
    distributed.barrier()

    saved = read_checkpoint(file)
    model = shard(case, **how, fresh=False)
    optimizer = optimizer_of(model)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=saved["state_dict"],
        optim_state_dict=saved["optimizer"],
        options=StateDictOptions(full_state_dict=True),
    )
    for _ in take_steps(case, model, optimizer, steps=range(HALF_WAY, STEPS), **place):
        pass
    return weights_of(model)


def run(rank: int, folder: Path, name: str, *, options: dict, **how: object) -> None:
    """Train a case at once, and with a stop; the first process writes what came of it."""
    case = Case(**options)
    model = shard(case, **how)
    found = outcome(case, model, rank=rank, ranks=RANKS)
    found["resumed"] = stop_and_go_on(case, folder / f"{name}-stopped.pth", rank=rank, **how)
    if rank == 0:
        torch.save(found, folder / f"{name}.pth")


with together(int(sys.argv[1]), sys.argv[2]):
    for name, job in json.loads(sys.argv[4]).items():
        run(int(sys.argv[1]), Path(sys.argv[3]), name, **job)
