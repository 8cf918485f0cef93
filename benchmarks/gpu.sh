#!/usr/bin/env bash
# Everything that is to know about a GPU, in one run of at most 8 minutes; nothing is installed.
#
#   benchmarks/gpu.sh [OPTION...]          measure; options go to benchmarks/gpu.py, see --help there
#   benchmarks/gpu.sh --dry-run            the same script at toy sizes on the CPU, half a minute
#   benchmarks/gpu.sh --pack DIR           where pip works: fetch MMEngine and the pure Python that it
#                                          needs, to be carried to a machine that has neither
#
#   PACK=DIR      what --pack made, for the machine that lacks it
#   PYTHON=...    the Python with torch; .venv/bin/python where there is one, else python3
#   OUT=DIR       where gpu.json is written, benchmarks/results by default; after every cell
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -z ${PYTHON:-} ]]; then
  PYTHON=python3
  if [[ -x .venv/bin/python ]]; then PYTHON=.venv/bin/python; fi
fi
budget=460 # seconds; no cell begins that would not end by then
limit=480

if [[ ${1:-} == --pack ]]; then
  folder=${2:?benchmarks/gpu.sh --pack wants the folder to fill}
  # Compiled packages (numpy, cv2, matplotlib, yaml) must be there already.
  "$PYTHON" -m pip install --quiet --no-deps --only-binary :all: --no-compile --upgrade \
    --target "$folder" \
    "$(grep -o '^onedl-mmengine==[^ ]*' requirements/openmmlab.txt)" \
    addict termcolor yapf platformdirs packaging rich pygments markdown-it-py mdurl
  du -sh "$folder"
  exit
fi
if [[ ${1:-} == --dry-run ]]; then
  shift
  set -- --device cpu --small "$@"
fi

export PYTHONPATH="$PWD${PACK:+:$(realpath "$PACK")}${PYTHONPATH:+:$PYTHONPATH}"
# Whatever hangs is ended; what was measured until then is on disk.
timeout --kill-after 5 "$limit" "$PYTHON" benchmarks/gpu.py \
  --seconds "$budget" --out "${OUT:-benchmarks/results}/gpu.json" "$@"
