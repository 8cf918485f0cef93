"""Signals that ask a training to stop, heard at the end of an iteration by all processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

import torch
from mmengine.device import get_device
from mmengine.dist import all_reduce, get_rank, get_world_size


class Stopped(SystemExit):
    """A training was asked to stop and has; its exit code is the shell's, 128 and the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


class StopSignals:
    """Remember a signal until whoever works has come to a place to stop at.

    Args:
        names: of the signals, such as `SIGTERM`.

    Raises:
        ValueError: if there is no such signal, or a process cannot catch it.
    """

    def __init__(self, names: Sequence[str]) -> None:
        known = {one.name: one for one in signal.Signals}
        unknown = [name for name in names if name not in known or name in ("SIGKILL", "SIGSTOP")]
        if unknown:
            raise ValueError(
                "signals must be names of signals that a process can catch, such as SIGTERM or "
                f"SIGUSR1, got {', '.join(map(str, unknown))}"
            )
        self._numbers = [known[name] for name in names]
        self._before: dict[int, Any] = {}
        self._asked = 0

    def listen(self) -> None:
        """Take the signals over. Python allows it in the main thread alone."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._asked = 0
        for number in self._numbers:
            self._before[number] = signal.signal(number, self._hear)

    def leave(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def agreed(self) -> int:
        """Return the signal that any process has heard, 0 if none; the same in all of them.

        All processes must ask at the same place.
        """
        if get_world_size() == 1:
            return self._asked
        asked = torch.tensor(self._asked, device=get_device())
        all_reduce(asked, "max")
        return int(asked)

    def _hear(self, number: int, _: object) -> None:
        if self._asked and number == signal.SIGINT and get_world_size() == 1:
            self.leave()
            raise KeyboardInterrupt  # asked twice; under torchrun its agent is the second to ask
        if not self._asked and get_rank() == 0:
            again = "; again to stop at once" if number == signal.SIGINT else ""
            name = signal.Signals(number).name
            line = f"\n{name}: stopping after this iteration, with a checkpoint{again}\n"
            os.write(sys.__stderr__.fileno(), line.encode())  # print is not safe in a handler
        self._asked = self._asked or number
