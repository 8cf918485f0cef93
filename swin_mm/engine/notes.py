"""What a command says before MMEngine's logger exists: printed at once, logged later."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass, field

_RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK")


def is_first_process(launcher: str) -> bool:
    """Say whether this process speaks for all, before a process group tells its rank."""
    if launcher == "none":
        return True
    ranks = (os.environ[name] for name in _RANK_VARIABLES if name in os.environ)
    return int(next(ranks, "0")) == 0


@dataclass
class Notes:
    """Lines for the user, and for the log file once there is one.

    Attributes:
        speaks: whether this process prints.
    """

    speaks: bool = True
    _lines: list[tuple[int, str]] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Tell the user something in one line."""
        self._lines.append((logging.INFO, line))
        if self.speaks:
            print(line, flush=True)

    def warn(self, text: str) -> None:
        """Tell the user something that must not be overlooked."""
        self._lines.append((logging.WARNING, text))
        if self.speaks:
            print(f"\nWARNING: {text}\n", file=sys.stderr, flush=True)

    def log_to(self, logger: logging.Logger) -> None:
        """Write all that was said into a log."""
        for level, line in self._lines:
            logger.log(level, line)
