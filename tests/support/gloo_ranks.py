"""Processes that work together over gloo: how a test starts them, and how each joins and leaves."""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from torch import distributed

RANKS = 2


@contextmanager
def together(rank: int, meeting: Path | str) -> Iterator[None]:
    """Be one process of a group, which no process leaves before the others.

    Gloo's threads end with the last reference to the group, which DDP's reducer has too. Python
    before 3.14 ends a thread that asks for the interpreter while that ends, which C++ may answer
    with an abort. So what was made within is dropped within: keep it in a function.

    Args:
        rank: number of this process.
        meeting: a file, not there yet, by which they find each other.
    """
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=RANKS
    )
    yield
    distributed.barrier()
    gc.collect()
    distributed.destroy_process_group()


def run_ranks(script: str, *arguments: object, folder: Path, seconds: float = 600) -> None:
    """Run a script of this folder in as many processes as there are ranks, and wait for all.

    Args:
        script: called with its rank, a file to meet at, and the arguments.
        arguments: the same for each.
        folder: for that file, and for what each rank prints.
        seconds: how long they may take.
    """
    meeting = folder / "meeting"
    command = [sys.executable, "-W", "ignore", Path(__file__).with_name(script)]
    logs = [folder / f"rank{rank}.log" for rank in range(RANKS)]
    running = []
    for rank, log in enumerate(logs):
        with log.open("w") as out:
            words = [*command, rank, meeting, *arguments]
            running.append(subprocess.Popen(list(map(str, words)), stdout=out, stderr=out))
    end = time.monotonic() + seconds
    try:
        while any(one.poll() is None for one in running):  # one that failed: the others hang
            if any(one.poll() for one in running) or time.monotonic() > end:
                break
            time.sleep(0.05)
    finally:
        for one in running:
            if one.poll() is None and time.monotonic() <= end:
                with suppress(subprocess.TimeoutExpired):
                    one.wait(2)
            one.kill()
            one.wait()
    told = [log.read_text() for log in logs]
    codes = [one.returncode for one in running]
    assert codes == [0] * RANKS, f"ranks ended with {codes}:\n" + "\n".join(t[-3000:] for t in told)
