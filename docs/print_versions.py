"""Print with which versions the test suite ran, and how it ended.

python docs/print_versions.py                        prints README's table
python docs/print_versions.py --write                puts it into README.md
python docs/print_versions.py --record REPORT.xml    keeps what pytest's `--junitxml` says of a run
                                                     in the environment of this very Python
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
FILE = ROOT / "benchmarks/results/versions.json"
README = ROOT / "README.md"
STACKS = {"maintained": "make test", "original": "make test-upstream"}
LIBRARIES = {
    "torch": "torch",
    "numpy": "NumPy",
    "mmengine": "MMEngine",
    "mmcv": "MMCV",
    "mmdet": "MMDetection",
    "mmseg": "MMSegmentation",
}
WHAT = (
    "the whole test suite with the maintained and with the original distributions of OpenMMLab's "
    "libraries; 'skips' counts tests by the reason they gave"
)


def versions_table(runs: dict[str, dict]) -> str:
    """A column for each set of distributions, a row for each library, and how the tests ended."""
    columns = [runs[stack] for stack in STACKS]
    heads = [f"{stack.capitalize()}: `{command}`" for stack, command in STACKS.items()]
    rows = [("", *heads), ("---",) * (1 + len(heads))]
    rows.append(("Python", *(run["python"] for run in columns)))
    for library, name in LIBRARIES.items():
        rows.append((name, *(run["packages"][library] for run in columns)))
    rows.append(("MMCV's operators", *(f"compiled for {run['operators']}" for run in columns)))
    rows.append(("Tests", *(ending(run["tests"]) for run in columns)))
    rows.append(("At commit", *(run["commit"] for run in columns)))
    return "\n".join(f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in rows)


def ending(tests: dict[str, int]) -> str:
    """Say how tests ended."""
    return ", ".join(f"{count} {how}" for how, count in tests.items())


def filled(page: str, table: str) -> str:
    """Put the table between its marks."""
    mark = "<!-- versions -->"
    text = f"{mark}\n{table}\n{mark}"
    return re.sub(f"{mark}.*?{mark}", lambda _: text, page, count=1, flags=re.S)


def read_runs(file: Path) -> dict[str, dict]:
    """Read what was recorded, by set of distributions."""
    if not file.is_file():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))["runs"]


def record(reports: list[Path], file: Path) -> dict:
    """Keep a run of the suite in this Python's environment, in the place of the one before."""
    from swin_mm.doctor.packages import OPENMMLAB, installed  # here: printing needs it not

    found = {library: installed()[library][0] for library in LIBRARIES}
    kinds = {found[library].maintained for library in OPENMMLAB}
    if len(kinds) != 1:
        names = ", ".join(found[library].name for library in OPENMMLAB)
        raise SystemExit(f"print_versions: maintained and original are mixed here: {names}")
    stack = "maintained" if kinds.pop() else "original"
    tests, skips = read_reports(reports)
    run = {
        "command": f"{STACKS[stack]} PYTEST_ARGS=--junitxml=FILE",
        "commit": commit(),
        "machine": f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "python": platform.python_version(),
        "operators": operators(),
        "packages": {
            library: one.version if one.name in ("torch", "numpy") else f"{one.name} {one.version}"
            for library, one in found.items()
        },
        "tests": tests,
        "skips": skips,
    }
    runs = {**read_runs(file), stack: run}
    ordered = {name: runs[name] for name in STACKS if name in runs}
    write_beside(file, json.dumps({"what": WHAT, "runs": ordered}, indent=1) + "\n")
    return run


def read_reports(reports: list[Path]) -> tuple[dict[str, int], dict[str, int]]:
    """Count the tests of one or several reports by how they ended, and skips by their reason."""
    tests, skips = Counter(), Counter()
    for report in reports:
        try:
            cases = list(ElementTree.parse(report).iter("testcase"))
        except (OSError, ElementTree.ParseError) as error:
            raise SystemExit(
                f"print_versions: {report} is no report of pytest's: {error}"
            ) from None
        for case in cases:
            skipped = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                tests["failed"] += 1
            elif skipped is not None:
                tests["skipped"] += 1
                skips[reason(skipped.get("message", ""))] += 1
            else:
                tests["passed"] += 1
    if not tests:
        raise SystemExit(f"print_versions: no test ran, says {', '.join(map(str, reports))}")
    return {how: tests[how] for how in ("passed", "skipped", "failed")}, dict(sorted(skips.items()))


def reason(message: str) -> str:
    """Leave out of a reason what differs by machine: folders."""
    return re.sub(r"(?<!\w)/[\w./-]+/", "", message.strip())


def operators() -> str:
    """Say which device mmcv's operators were compiled for."""
    from mmcv.ops import get_compiling_cuda_version

    found = get_compiling_cuda_version()
    return "the CPU" if found == "not available" else f"CUDA {found}"


def commit() -> str:
    """Return the commit, and whether the tree differs from it."""
    words = (("rev-parse", "--short", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
    try:
        head, changes = (
            subprocess.run(
                ["git", *one], cwd=ROOT, capture_output=True, text=True, check=True
            ).stdout.strip()
            for one in words
        )
    except (OSError, subprocess.CalledProcessError):
        return "not known"
    return f"{head}, changed" if changes else head


def write_beside(file: Path, text: str) -> None:
    """Write beside and rename, so that a file is always whole."""
    beside = file.with_name(f".{file.name}.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(file)


def main() -> int:
    """Print, write or record."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--write", action="store_true", help="into README.md")
    parser.add_argument("--record", nargs="+", type=Path, metavar="REPORT", help="of this Python")
    parser.add_argument("--results", type=Path, default=FILE, help="another file of runs")
    parser.add_argument("--readme", type=Path, default=README, help="another page with the marks")
    args = parser.parse_args()
    if args.record:
        run = record(args.record, args.results)
        print(f"{ending(run['tests'])}: kept in {args.results}")
        return 1 if run["tests"]["failed"] else 0
    runs = read_runs(args.results)
    missing = [f"`{command}`" for stack, command in STACKS.items() if stack not in runs]
    if missing:
        print(f"print_versions: {args.results} has no run of {' and '.join(missing)}; record it")
        return 1
    table = versions_table(runs)
    if args.write:
        write_beside(args.readme, filled(args.readme.read_text(encoding="utf-8"), table))
    else:
        print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
