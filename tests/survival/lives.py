"""Train again and again in forks of one process, killing each at a chosen place.

Reads a JSON list of lives from stdin and writes, for each, a JSON list of how its ranks ended.
A life: `train`, the arguments of `swin_mm.engine.train`; `ranks`; `port`; and `kill` or nothing:

  {"hook": "after_train_iter", "iteration": 3}       after the hooks of that iteration
  {"file": "iter_4.pth", "bytes": 0.5}               half of the file written (or so many bytes)
  {"file": "iter_4.pth", "call": "fsync"}            before a call, or with `fsync+` after it
  {"hook": ..., "signal": "SIGTERM", "rank": 1}      another signal than SIGKILL, to one rank alone
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

import mmdet.apis
import mmdet.datasets
import mmdet.engine
import mmdet.evaluation
import mmdet.models  # noqa: F401
import mmseg.apis
import mmseg.datasets
import mmseg.engine
import mmseg.evaluation
import mmseg.models  # noqa: F401
import torch
import torch._dynamo  # what a network asks for as it is built

from swin_mm.engine import report, run_tool, train, whole_files
from swin_mm.engine.runner import QuietRunner

torch.set_num_threads(1)
report.draw_loss_curve = lambda *_: None  # the slowest part of so short a run


def die(kill: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.Signals[kill.get("signal", "SIGKILL")])


def at_hook(kill: dict[str, Any]) -> None:
    """Die after the hooks of some moment, of the iteration with that number."""
    original = QuietRunner.call_hook

    def call_hook(self: QuietRunner, fn_name: str, **more: Any) -> None:
        before = kill.get("before", False)
        here = fn_name == kill["hook"] and self.iter == kill["iteration"]
        if here and before:
            die(kill)
        original(self, fn_name, **more)
        if here and not before:
            die(kill)

    QuietRunner.call_hook = call_hook


class DyingFile:
    """A file whose process dies before more than some bytes are written."""

    def __init__(self, file: Any, kill: dict[str, Any]) -> None:
        self.file, self.kill, self.written = file, kill, 0

    def write(self, content: memoryview) -> int:
        limit = self.kill["bytes"]
        limit = int(limit * len(content)) if isinstance(limit, float) else limit % len(content)
        if self.written + len(content) > limit:
            self.file.write(content[: limit - self.written])
            self.file.flush()
            die(self.kill)
        self.written += len(content)
        return self.file.write(content)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "DyingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def in_file(kill: dict[str, Any]) -> None:
    """Die while a file of that name is written."""
    beside = kill["file"] + whole_files.PART

    def opened(path: str, mode: str) -> Any:
        file = open(path, mode)  # noqa: SIM115
        mine = mode == "wb" and os.path.basename(path) == beside
        return DyingFile(file, kill) if mine and "bytes" in kill else file

    whole_files.open = opened
    if "call" not in kill:
        return
    name = kill["call"].rstrip("+")
    call = getattr(os, name)

    def dying(first: Any, *more: Any) -> None:
        path = os.readlink(f"/proc/self/fd/{first}") if isinstance(first, int) else first
        if os.path.basename(path) != beside:
            return call(first, *more)
        if not kill["call"].endswith("+"):
            die(kill)
        call(first, *more)
        die(kill)

    setattr(os, name, dying)


def forked(live: Callable[[], int], *, log: str) -> int:
    """Run something in a fork, its output in a file, and return the process."""
    child = os.fork()
    if child:
        return child
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 1
    try:
        code = live()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def live(life: dict[str, Any], rank: int) -> int:
    kill = life.get("kill")
    if kill and kill.get("rank", rank) == rank:
        (at_hook if "hook" in kill else in_file)(kill)
    if life["ranks"] > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(life["ranks"]))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=life["port"])
        life["train"]["launcher"] = "pytorch"
    return run_tool(lambda: train(**life["train"]))


def end(children: list[int]) -> list[int]:
    """Wait for all ranks; where one was killed, its machine is gone and the others go with it."""
    codes = dict.fromkeys(children, 0)
    left = set(children)
    while left:
        child, status = os.wait()
        if child not in left:
            continue
        left.remove(child)
        codes[child] = os.waitstatus_to_exitcode(status)
        if codes[child] == -signal.SIGKILL:
            for other in left:
                os.kill(other, signal.SIGKILL)
    return list(codes.values())


for life in json.load(sys.stdin):
    logs = [f"{life['log']}.{rank}" for rank in range(life["ranks"])]
    children = [
        forked(lambda rank=rank, life=life: live(life, rank), log=log)
        for rank, log in enumerate(logs)
    ]
    print(json.dumps(end(children)), flush=True)
