#!/usr/bin/env bash
# Build the environments of the peers whose networks the fixtures come from, under .peers/, and run
# the makers of the fixtures in them.
#
#   peers_env.sh            build what is not there yet (6 GB of disk: torchvision's torch has CUDA)
#   peers_env.sh make DIR   write all fixtures into DIR (default: tests/fixtures)
#
# `current` stands by itself. `earlier` (timm 0.6, transformers 4) puts its own packages before
# those of `current`, `mmpretrain` its own before both and before .venv, so torch is there once.
# `runtimes` (OpenVINO, onnxruntime) stands before `current` and .venv: benchmarks/backbone.py
# measures in it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
peers=$PWD/.peers
makers=tests/fixtures/makers

die() {
  printf 'peers failed: %s\n' "$*" >&2
  exit 1
}
site_of() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

# A folder, the options for pip, and the environments whose packages stand behind its own.
environment() {
  local folder=$peers/$1 pins=$makers/$1.txt stamp=$peers/$1/set-up-for wanted
  local -a options=()
  read -ra options <<<"$2"
  shift 2
  wanted="$folder $(<"$pins")"
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  printf 'peers: %s\n' "$(grep -v '^#' "$pins" | paste -sd' ')"
  # Without pip's own setuptools, which is too old to build what stands before .venv's.
  .venv/bin/python -m venv --clear --without-pip "$folder" || die "no environment in $folder"
  local behind
  for behind in "$@"; do site_of "$behind"; done >"$(site_of "$folder")/behind.pth"
  .venv/bin/python -m pip --python "$folder/bin/python" --disable-pip-version-check --no-input -qq \
    install "${options[@]}" -r "$pins" || die "pip could not install $pins"
  printf '%s\n' "$wanted" >"$stamp"
}

run() { # an environment, a maker and its arguments
  local python=$1/bin/python maker=$2
  shift 2
  PYTHONPATH=tests/support OMP_NUM_THREADS=1 "$python" -W ignore "$makers/$maker.py" "$@"
}

[[ -x .venv/bin/python ]] || die "there is no .venv: make setup"
environment current ''
environment earlier '--no-deps' "$peers/current"
environment mmpretrain '--no-deps --no-build-isolation' "$peers/earlier" "$peers/current" .venv
environment runtimes '--no-deps' "$peers/current" .venv
[[ ${1:-} == make ]] || exit 0

into=(--into "${2:-tests/fixtures}")
run .venv official_networks "${into[@]}"
run .venv openmmlab_networks mmdet "${into[@]}"
run "$peers/mmpretrain" openmmlab_networks mmpretrain "${into[@]}"
for era in earlier current; do
  run "$peers/$era" timm_networks "${into[@]}"
  run "$peers/$era" huggingface_networks "${into[@]}"
done
run "$peers/current" torchvision_networks "${into[@]}"
