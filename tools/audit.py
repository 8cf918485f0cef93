"""Ask for known vulnerabilities of all that requirements/ pins. A pin without an answer fails.

Exits with 1 where one is vulnerable, with 2 where one could not be audited. Started by make audit.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parents[1] / "requirements"
OSV = "https://api.osv.dev/v1/query"
Pin = tuple[str, str]


def read_pins(files: list[Path]) -> list[Pin]:
    """Read names and versions, those for other Pythons and platforms too."""
    pins = set()
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            line = re.sub(r"(^|\s)#.*", "", line).partition(";")[0].strip()
            if pin := re.fullmatch(r"([\w.-]+)==([\w.!+]+)", line):
                pins.add((re.sub(r"[-_.]+", "-", pin[1]).lower(), pin[2]))
            elif line:
                raise ValueError(f"a line must be NAME==VERSION, got {line!r} at {file}:{number}")
    if not pins:
        raise ValueError(f"there must be a pin to audit, got none in {[*map(str, files)]}")
    return sorted(pins)


def ask(pins: list[Pin], words: list[str]) -> dict[Pin, list[dict] | str]:
    """Return what is known of each pin, or why nothing is; a name has one version here."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "pins.txt"), Path(folder, "found.json")
        file.write_text("".join(f"{name}=={version}\n" for name, version in pins))
        words = ["--no-deps", "--disable-pip", *words, "-f", "json", "-o", out, "-r", file]
        command = [sys.executable, "-m", "pip_audit", *words]
        ended = subprocess.run(command, capture_output=True, text=True)
        found = json.loads(out.read_text())["dependencies"] if out.is_file() else []
    last = (ended.stderr.strip().splitlines() or [f"pip-audit ended with {ended.returncode}"])[-1]
    known = {(one["name"], one["version"]): one["vulns"] for one in found if "vulns" in one}
    skipped = {one["name"]: one["skip_reason"] for one in found if "vulns" not in one}
    why = "pip-audit left it out of its answer" if found else last
    return {pin: known.get(pin, skipped.get(pin[0], why)) for pin in pins}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="of pins (all of requirements/)")
    parser.add_argument("--service", choices=("pypi", "osv", "esms"), default="pypi")
    parser.add_argument("--osv-url", metavar="URL", default=OSV, help="a copy of OSV's service")
    parser.add_argument("--ignore-vuln", action="append", default=[], metavar="ID", help="known")
    args = parser.parse_args()
    words = [f"--vulnerability-service={args.service}", f"--osv-url={args.osv_url}"]
    words += [f"--ignore-vuln={known}" for known in args.ignore_vuln]
    try:
        pins = read_pins(args.files or sorted(PINS.rglob("*.txt")))
    except (OSError, ValueError) as error:
        print(f"audit: {error}", file=sys.stderr)
        return 2
    found = ask(pins[:1], words)  # the first alone tells whether anybody answers
    answered = not isinstance(found[pins[0]], str)
    while answered and (left := [pin for pin in pins if pin not in found]):
        found |= ask(list(dict(left).items()), words)
    audited, ill = 0, 0
    for (name, version), known in found.items():
        if isinstance(known, str):
            print(f"audit: {name} {version} was not audited: {known}", file=sys.stderr)
            continue
        audited, ill = audited + 1, ill + bool(known)
        for one in known:
            cure = " or ".join(one["fix_versions"]) or "no version yet"
            print(f"audit: {name} {version}: {one['id']}, mended in {cure}", file=sys.stderr)
    print(f"audit: {audited} of {len(pins)} pins audited by {args.service}, {ill} vulnerable")
    return 2 if audited < len(pins) else int(ill > 0)


if __name__ == "__main__":
    sys.exit(main())
