"""Which device to run on, and how the processes of a launcher find each other without a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import torch
from mmengine.config import Config
from torch import distributed

from swin_mm.engine.config import every_dict, type_of
from swin_mm.engine.errors import UsageError, command
from swin_mm.engine.notes import Notes

LAUNCHERS = ("none", "pytorch", "slurm", "mpi")


@dataclass(frozen=True)
class Device:
    """What MMEngine will run on.

    Attributes:
        name: `cuda` or `cpu`, or another accelerator of MMEngine's.
        reason: why not a GPU, or which one.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class Place:
    """This process among all: ranks and the address of the first."""

    rank: int
    world_size: int
    local_rank: int
    address: str
    port: str


def needs_operators(cfg: Config) -> bool:
    """Say whether a config runs mmcv's compiled operators: all of MMDetection does."""
    if cfg.get("default_scope") == "mmdet":
        return True
    return any(type_of(node).startswith("mmdet.") for node in every_dict(cfg.get("model")))


def choose_device(operators: bool, asked: str | None = None) -> Device:
    """Take a GPU if torch, and mmcv's operators where they are needed, both run on it.

    Args:
        operators: whether they are needed.
        asked: a device by torch's name, which is taken as it is; other ones are not touched.

    Raises:
        UsageError: if the operators are needed and mmcv has none at all, or the device that was
            asked for cannot be used.
    """
    nms = _import_nms() if operators else None
    if asked is not None:
        return _asked_device(asked)
    if not torch.cuda.is_available():
        return Device(_other_accelerator(operators), f"torch {torch.__version__} sees no GPU")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    name = torch.cuda.get_device_name()
    try:
        boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0]], device="cuda") * 2
        if nms is not None:
            nms(boxes, boxes.new_ones(1), 0.5)
    except RuntimeError as error:
        first = str(error).partition("\n")[0]
        return Device("cpu", f"{name} is there, but does not run what is needed: {first}")
    return Device("cuda", name)


def _asked_device(name: str) -> Device:
    try:
        torch.empty(0, device=name)
        if torch.device(name).type == "cuda" and torch.device(name).index is not None:
            torch.cuda.set_device(name)  # for what asks for the GPU, and not for a tensor's
    except (RuntimeError, AssertionError) as error:
        first = str(error).partition("\n")[0]
        raise UsageError(f"--device {name} cannot be used here: {first}") from error
    return Device(name, "as asked")


def _import_nms() -> Callable:
    try:
        from mmcv.ops import nms
    except ImportError as error:
        raise UsageError(
            f"this config needs mmcv's compiled operators, which do not import: {error}. "
            "mmcv-lite has none; `make setup` builds them, or see the README on installing mmcv. "
            "UPerNet runs without them"
        ) from error
    return nms


def _other_accelerator(operators: bool) -> str:
    """Name what MMEngine would choose; Apple's has no operators of mmcv."""
    from mmengine.device import get_device

    chosen = get_device()
    return "cpu" if chosen == "cuda" or (chosen == "mps" and operators) else chosen


def use_device(device: Device, cfg: Config, notes: Notes) -> None:
    """Let MMEngine run on a device; on the CPU turn SyncBN, which needs a GPU, into BN."""
    import mmengine.device.utils

    # What `get_device()` returns; MMEngine has no other way to refuse a GPU that it sees.
    mmengine.device.utils.DEVICE = device.name
    notes.say(f"Device: {device.name} ({device.reason})")
    if device.name != "cpu":
        return
    changed = [
        node for node in every_dict(cfg.model) if type_of(node).rpartition(".")[2] in _SYNC_NORMS
    ]
    for node in changed:
        node["type"] = "BN"
    if changed or cfg.get("sync_bn"):
        cfg.pop("sync_bn", None)
        notes.say("SyncBN needs a GPU: BN in its place")


_SYNC_NORMS = ("SyncBN", "MMSyncBN", "SyncBatchNorm", "NaiveSyncBN")


def take_place(launcher: str) -> None:
    """Write this process's place among a launcher's into the variables that torch reads.

    Raises:
        UsageError: if the launcher's variables are not set, or are set and no launcher was named.
    """
    if launcher == "none":
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise UsageError(
                f"torchrun started {os.environ['WORLD_SIZE']} processes, each of which would run "
                "the whole job: add --launcher pytorch"
            )
        return
    place = find_place(launcher)
    os.environ.update(
        RANK=str(place.rank),
        WORLD_SIZE=str(place.world_size),
        LOCAL_RANK=str(place.local_rank),
        MASTER_ADDR=place.address,
        MASTER_PORT=place.port,
    )


def start_processes(launcher: str, device: Device, cfg: Config) -> None:
    """On the CPU, join the processes of a launcher by gloo: MMEngine would ask for CUDA.

    On a GPU MMEngine joins them.
    """
    cfg.launcher = launcher
    if launcher == "none" or device.name != "cpu":
        return
    distributed.init_process_group("gloo")
    cfg.model_wrapper_cfg = {
        "type": "MMDistributedDataParallel",
        "broadcast_buffers": False,
        "find_unused_parameters": cfg.get("find_unused_parameters", False),
        **(cfg.get("model_wrapper_cfg") or {}),
        "device_ids": None,
    }


def find_place(launcher: str) -> Place:
    """Read a launcher's variables.

    Raises:
        UsageError: if one is not set.
    """
    if launcher == "pytorch":
        rank, world, local = _variables(launcher, "RANK", "WORLD_SIZE", "LOCAL_RANK")
    elif launcher == "slurm":
        rank, world, local = _variables(launcher, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")
    else:
        prefix = "OMPI_COMM_WORLD"
        rank, world, local = _variables(
            launcher, f"{prefix}_RANK", f"{prefix}_SIZE", f"{prefix}_LOCAL_RANK"
        )
    address = os.environ.get("MASTER_ADDR")
    if address is None:
        if launcher == "slurm":
            address = _first_node()
        elif world == 1:
            address = "127.0.0.1"
        else:
            raise UsageError(f"--launcher {launcher} needs MASTER_ADDR, the first machine's name")
    return Place(rank, world, local, address, os.environ.get("MASTER_PORT") or _port(launcher))


def _port(launcher: str) -> str:
    """Choose torch's usual port; by job under Slurm, whose jobs share machines."""
    job = os.environ.get("SLURM_JOB_ID", "") if launcher == "slurm" else ""
    return str(20000 + int(job) % 20000) if job.isdigit() else "29500"


def _variables(launcher: str, *names: str) -> list[int]:
    missing = [name for name in names if name not in os.environ]
    if missing:
        start = {
            "pytorch": "torchrun --nproc-per-node 2",
            "slurm": "srun --ntasks 2",
            "mpi": "mpirun -np 2 -x MASTER_ADDR",
        }[launcher]
        line = command("train.py", "CONFIG", "--launcher", launcher)
        if launcher == "pytorch":
            line = line.removeprefix("python ")
        raise UsageError(
            f"--launcher {launcher} needs {', '.join(missing)}, which its launcher sets. "
            f"Start with:\n  {start} {line}"
        )
    return [int(os.environ[name]) for name in names]


def _first_node() -> str:
    nodes = os.environ.get("SLURM_JOB_NODELIST") or os.environ.get("SLURM_NODELIST")
    if not nodes or not shutil.which("scontrol"):
        raise UsageError(
            "--launcher slurm asks `scontrol show hostnames` for the first of SLURM_JOB_NODELIST; "
            f"{'scontrol is not on PATH' if nodes else 'the variable is not set'}. "
            "Set MASTER_ADDR to the first machine's name"
        )
    shown = subprocess.run(
        ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=False
    )
    names = shown.stdout.split()
    if shown.returncode or not names:
        raise UsageError(
            f"scontrol show hostnames {nodes} failed: {shown.stderr.strip() or 'no names'}. "
            "Set MASTER_ADDR to the first machine's name"
        )
    return names[0]
