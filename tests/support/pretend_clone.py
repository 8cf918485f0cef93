"""A clone whose Python notes its calls and installs nothing, for the commands of the Makefile."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = (ROOT / "requirements" / "openmmlab.txt").read_text()
MMCV = re.search(r"^onedl-mmcv==(\S+)", PINNED, re.M)[1]
REAL = shlex.quote(sys.executable)
WHEEL = f"onedl_mmcv-{MMCV}-cp311-cp311-linux_x86_64.whl"
UPSTREAM = (ROOT / "requirements" / "apart" / "upstream.txt").read_text()
THEIR_MMCV = re.search(r"^mmcv==(\S+)", UPSTREAM, re.M)[1]
THEIR_WHEEL = f"mmcv-{THEIR_MMCV}-cp311-cp311-linux_x86_64.whl"

KERNELS = "swin_mm/ops/kernels"
INSTALLED = "pip install --no-build-isolation --no-deps -e ."

# Stands for python3 and for .venv/bin/python: makes virtual environments that are copies of
# itself, notes what pip is asked for, and compiles by writing a small wheel and empty kernels.
PYTHON = f"""#!/usr/bin/env bash
note() {{ printf '%s\\n' "$*" >> "$NOTES"; }}
case "$*" in
*'-m venv'*) note venv; mkdir -p "${{!#}}/bin"; cp "$0" "${{!#}}/bin/python" ;;
*'-m pip'*' wheel '*)
  note "compile MAX_JOBS=${{MAX_JOBS:-}}"
  [[ -z ${{COMPILER_FAILS:-}} ]] || {{ echo 'a.cpp: error: no luck'; exit 1; }}
  wheel={WHEEL}; [[ $* == *onedl-mmcv=={MMCV}* ]] || wheel={THEIR_WHEEL}
  while [[ $1 != -w ]]; do shift; done
  {REAL} -c 'import sys, zipfile
zipfile.ZipFile(sys.argv[1], "w").writestr("mmcv/_ext.so", "x")' "$2/$wheel" ;;
*'-m pytest'*) note "pytest of $0"; exit "${{FAILS:-0}}" ;;
'docs/print_versions.py'*) note "$*" ;;
*'-m pip'*'-e .')
  asked="$*"; note "pip ${{asked#*-qq }}"
  [[ -n ${{KERNELS_FAIL:-}} ]] || (cd {KERNELS} && touch gelu.h $({REAL} recipe.py)) ;;
*why_not*) [[ -z $({REAL} {KERNELS}/recipe.py) ]] || echo 'they were not compiled' ;;
*'-m pip'*) asked="$*"; note "pip ${{asked#*-qq }}" ;;
'tools/mmcv_ops.py plan'*) printf 'a-key\\nthe CPU (a test)\\n' ;;
'tools/mmcv_ops.py check') [[ ! -e $NOTES.unusable ]] || {{ rm "$NOTES.unusable"; exit 1; }} ;;
*'import sys, cv2'*) ;;
*_base_executable*) {REAL} "$@" >/dev/null && echo "$0" ;;
*) exec {REAL} "$@" ;;
esac
"""


class Clone:
    """The files of the set-up in a folder with spaces, beside a cache, a home and the notes."""

    def __init__(self, folder: Path):
        self.root, self.notes, self.cache = folder / "my clone", folder / "notes", folder / "cache"
        for name in ["Makefile", "setup.py", "requirements", "tools"]:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
            self.root.mkdir(exist_ok=True)
            copy(ROOT / name, self.root / name)
        compiled = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / KERNELS, self.root / KERNELS, ignore=compiled)
        self.python = folder / "python"
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)
        self.wheel = self.cache / "wheels" / "a-key" / WHEEL

    def make(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        self.notes.write_text("")
        hidden = {"PYTHON", "MMCV_WHEEL", "MAX_JOBS", "MAKEFLAGS", "MAKELEVEL", "HOME"}
        hidden |= {"CXX", "SWIN_MM_KERNELS"}
        settings = {"PYTHON": str(self.python), "NOTES": str(self.notes)}
        settings |= {"SWIN_MM_CACHE": str(self.cache), **variables}
        inherited = {name: value for name, value in os.environ.items() if name not in hidden}
        return subprocess.run(
            ["make", "--no-print-directory", *arguments],
            env=inherited | settings,
            cwd=self.root,
            capture_output=True,
            text=True,
        )

    def did(self, what: str) -> bool:
        return any(line.startswith(what) for line in self.notes.read_text().splitlines())
