"""Say what is installed, what works with it, and the command that mends what does not.

  python tools/doctor.py
  python tools/doctor.py --json > doctor.json

Nothing is installed or changed. Exit code 0 if the main job works, else 1: the backbone runs, and
MMDetection or MMSegmentation, whichever is installed, at least one, trains and predicts.
"""

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType

LONGEST = 86_400  # seconds that a probe may take
ROOM = Path(__file__).resolve().parents[1] / "swin_mm" / "doctor"


def load_room() -> ModuleType:
    """Load the doctor alone: `import swin_mm` wants torch and MMEngine, which may be broken."""
    spec = importlib.util.spec_from_file_location(
        "swin_mm_doctor", ROOM / "__init__.py", submodule_search_locations=[str(ROOM)]
    )
    room = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = room
    spec.loader.exec_module(room)
    return room


def tell(line: str) -> None:
    """Show how far it is, beside the output: in one line of a terminal, or line by line."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    elif line:
        print(line, file=sys.stderr, flush=True)


def main() -> None:
    """Parse the command line, examine, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument(
        "--quick", action="store_true", help="do not try torch's compiler, which takes longest"
    )
    parser.add_argument(
        "--timeout", type=float, default=180.0, metavar="S", help="for one probe, seconds (180)"
    )
    args = parser.parse_args()
    if not 0 < args.timeout <= LONGEST:
        parser.error(f"--timeout must be above 0 and at most {LONGEST} s, not {args.timeout:g}")
    doctor = load_room()
    try:
        diagnosis = doctor.examine(quick=args.quick, timeout=args.timeout, tell=tell)
    except KeyboardInterrupt:
        print("stopped by the user", file=sys.stderr)
        sys.exit(130)
    tell("")
    if sys.stdout is not None:  # names of folders are any bytes
        sys.stdout.reconfigure(errors="backslashreplace")
    as_json = args.json and json.dumps(doctor.as_json(diagnosis), indent=2)
    try:
        print(as_json or doctor.as_text(diagnosis), flush=True)
    except BrokenPipeError:  # as `| head` leaves it; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    sys.exit(0 if diagnosis.well else 1)


if __name__ == "__main__":
    main()
