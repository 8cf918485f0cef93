"""One kind of error for what a command cannot do, and how a command ends with it."""

from __future__ import annotations

import difflib
import io
import os
import select
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping


class UsageError(Exception):
    """What was asked for cannot be done; the message says why and what would work."""


class RunError(Exception):
    """A run that had begun cannot go on; the message says why and what is saved."""


def run_tool(main: Callable[[], None]) -> int:
    """Run a command, and turn a `UsageError`, or a refusal, into one message on stderr.

    Refusals are the system's, and those of what a config asks for and nobody has.

    Under a launcher the first process of each machine tells it whole, the
    others in one line.

    Returns:
        The exit code: 0, 1 after a run that could not go on, 2 after a usage error, 130 after
        Ctrl-C, 141 where whoever reads the output has gone.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files are any bytes
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            main()
        finally:
            print(end="", flush=True)  # here, and not behind the last line of Python
    except (UsageError, RunError) as error:
        local_rank = os.environ.get("LOCAL_RANK", "0")
        message = str(error).replace("unsafe=True", "--unsafe")  # as a command's user says it
        if local_rank == "0":
            print(f"error: {message}", file=sys.stderr)
        else:
            first = message.partition("\n")[0]
            print(f"error (local rank {local_rank}): {first}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except OSError as error:  # a folder that cannot be written, a full disk
        if isinstance(error, BrokenPipeError) and _output_is_gone():
            return 141
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, ImportError) as error:
        from swin_mm.engine.refusals import refusal_of  # here: other commands need no MMEngine

        refusal = refusal_of(error)
        if refusal is None:
            raise
        print(f"error: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped by the user", file=sys.stderr)
        return 130
    return 0


def _output_is_gone() -> bool:
    """Whether it was the output that broke, as `| head` leaves it; if so, let go of it."""
    poll = select.poll()
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError):  # there is none, or it is no file
        return False
    poll.register(number, select.POLLOUT)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    # Python would try once more at its end, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return True


def near(name: str, names: Iterable[str]) -> str:
    """Say which known names are near a misspelt one: `; did you mean a or b?`, or nothing."""
    matches = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def command(script: str, *arguments: str) -> str:
    """Write a command line that starts a script lying beside the running one."""
    folder = os.path.dirname(sys.argv[0]) or "tools"
    words = [os.path.join(folder, script), *arguments]
    return " ".join(["python", *(shlex.quote(word) for word in words)])


def command_again(changes: Mapping[str, str]) -> str:
    """Write the running command line with some of its options set to other values."""
    given = sys.argv[1:]
    kept = [
        word
        for before, word in zip(["", *given], given, strict=False)
        if word.partition("=")[0] not in changes and before not in changes
    ]
    options = [word for pair in changes.items() for word in pair]
    return command(os.path.basename(sys.argv[0]), *options, *kept)
