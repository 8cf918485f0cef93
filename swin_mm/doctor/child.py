"""Ask a question in a process of its own: a library that dies at import takes only that along."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROBES = Path(__file__).with_name("probes.py")
MARK = "@doctor "


@dataclass(frozen=True)
class Answer:
    """What a probe told.

    Attributes:
        ok: whether it came to its end.
        facts: what it found.
        step: what it was doing when it failed.
        error: how it failed, in one line.
        missing: the module that it did not find, if that was it.
    """

    ok: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    step: str = ""
    error: str = ""
    missing: str = ""


def ask(probe: str, *, timeout: float) -> Answer:
    """Run a probe.

    Args:
        probe: a function of `probes.py`; what follows a colon is its argument.
        timeout: seconds until it counts as hanging.
    """
    try:
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", str(PROBES), probe],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as late:
        told = late.stdout.decode(errors="replace") if late.stdout else ""
        return Answer(False, step=_step(_told(told)), error=f"no answer in {timeout:.0f} s")
    told = _told(ended.stdout)
    for line in told:
        if "ok" in line:
            return Answer(step=_step(told), **line)
    return Answer(False, step=_step(told), error=_death(ended.returncode, ended.stderr))


def _told(stdout: str) -> list[dict[str, Any]]:
    """The probe's own lines; libraries print what they like between them."""
    marked = (line.removeprefix(MARK) for line in stdout.splitlines() if line.startswith(MARK))
    return [json.loads(line) for line in marked]


def _step(told: list[dict[str, Any]]) -> str:
    return next((line["step"] for line in reversed(told) if "step" in line), "")


def _death(code: int, stderr: str) -> str:
    """Say how a process died that could not say it itself."""
    if code < 0:
        names = {one.value: one.name for one in signal.Signals}
        return f"the process was killed by {names.get(-code, f'signal {-code}')}"
    last = [line.strip() for line in stderr.splitlines() if line.strip()][-1:]
    return f"the process ended with code {code}" + "".join(f": {line}" for line in last)
