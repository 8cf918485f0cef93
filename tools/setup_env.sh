#!/usr/bin/env bash
# Build an environment of the project: pinned versions, mmcv's operators compiled once.
#
#   setup_env.sh            .venv, with the maintained distributions of OpenMMLab's libraries
#   setup_env.sh upstream   .upstream, with the original ones, in which `make test-upstream` tests
#
#   PYTHON=python3.11   the interpreter to build on: 3.10 to 3.13, tested with 3.11
#   SWIN_MM_CACHE=DIR   where compiled mmcv wheels are kept (default: swin_mm in the user's cache)
#   MMCV_WHEEL=FILE     a ready mmcv wheel, taken instead of compiling one
#   MAX_JOBS=N          compilers at once (default: one a core, with 2 GB of memory each)
#   TORCH_INDEX=URL     a further package index, such as PyTorch's own for CPU builds
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
constraints=requirements/constraints.txt
case ${1:-} in
  '') name=.venv openmmlab=requirements/openmmlab.txt mmcv_name=onedl-mmcv ;;
  upstream) name=.upstream openmmlab=requirements/apart/upstream.txt mmcv_name=mmcv ;;
  *) printf 'set-up failed: there is "upstream" or nothing to build, not "%s"\n' "$1" >&2 && exit 2 ;;
esac
venv=$PWD/$name
py=$venv/bin/python
stamp=$venv/set-up-for

say() { printf 'set-up %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
die() {
  printf 'set-up failed: %s\n' "$*" >&2
  exit 1
}
pip() { "$py" -m pip --disable-pip-version-check --no-input -qq "$@"; }

# The interpreter below PYTHON (an activated .venv cannot rebuild itself), if we can build on it.
find_python() {
  local asked=${PYTHON:-python3}
  command -v "$asked" >/dev/null ||
    die "$asked is not found; install Python 3.11, or name one: make setup PYTHON=/path/to/python3"
  "$asked" -c '
import sys
if not (3, 10) <= sys.version_info[:2] <= (3, 13):
    met = sys.version.split()[0]
    sys.exit(f"swin_mm needs Python 3.10 to 3.13, this is {met}: make setup PYTHON=python3.11")
print(sys._base_executable)' || die "$asked cannot be used"
}

# What an environment is good for: these requirements, in this folder, on this Python.
fingerprint() {
  "$base" - "$venv" requirements/{build,constraints,dev}.txt "$openmmlab" setup.py tools/setup_env.sh <<'PY'
import hashlib, pathlib, platform, sys
digest = hashlib.sha256(f"{platform.python_version()} {sys.argv[1]}".encode())
for name in sys.argv[2:]:
    digest.update(pathlib.Path(name).read_bytes())
print(digest.hexdigest())
PY
}

need_compiler() {
  [[ -z ${MMCV_WHEEL:-} ]] || return 0
  command -v "${CXX:-c++}" >/dev/null ||
    die "${CXX:-c++} is not found; mmcv's operators need a C++ compiler (Debian: apt install g++)"
  "$base" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    die "Python.h is not found; mmcv's operators need Python's headers (Debian: apt install python3-dev)"
}

make_venv() {
  local same='import pip, platform, sys; sys.exit(platform.python_version() != sys.argv[1])'
  "$py" -c "$same" "$version" 2>/dev/null && return
  "$base" -m venv --clear "$venv" ||
    die "$base -m venv failed; on Debian and Ubuntu: apt install python3-venv"
}

cache_folder() {
  local home=${HOME:-~} # which bash knows where HOME is not set
  printf '%s/wheels/%s' "${SWIN_MM_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/swin_mm}" "$1"
}

compile_jobs() {
  local gigabytes
  gigabytes=$(awk '/^MemAvailable/ {print int($2 / 2e6)}' /proc/meminfo 2>/dev/null || echo 4)
  "$base" -c 'import os, sys
print(max(1, min(os.cpu_count() or 1, int(sys.argv[1]))))' "$gigabytes"
}

# Turn ninja's "[12/78]" into a line every half minute.
show_progress() {
  local line last=$SECONDS start=$SECONDS
  while IFS= read -r line; do
    [[ $line =~ ^[[:space:]]*\[([0-9]+)/([0-9]+)\] ]] || continue
    ((SECONDS - last >= 30)) || continue
    last=$SECONDS
    local done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    say "  compiled $done of $all files, about $(((all - done) * (last - start) / done / 60 + 1)) min left"
  done
}

# pip's own cache is not asked: it would hand out a wheel compiled for another torch.
compile_mmcv() { # mmcv's version, the device, the folder for the wheel
  local log=$venv/mmcv-build.log
  local -a settings=(MMCV_WITH_OPS=1 "MAX_JOBS=${MAX_JOBS:-$(compile_jobs)}")
  # mmcv compiles for CUDA whenever torch sees a device, even where no nvcc could do it.
  [[ $2 == CUDA ]] || settings+=(CUDA_VISIBLE_DEVICES='' FORCE_CUDA=0)
  env "${settings[@]}" "$py" -m pip wheel -v --no-input --no-cache-dir --no-deps \
    --no-build-isolation -w "$3" "$mmcv_name==$1" 2>&1 | tee "$log" | show_progress || {
    tail -n 30 "$log" >&2
    die "mmcv's operators did not compile; the whole log: $log"
  }
}

keep_wheel() { # the wheel, its folder in the cache
  # Renamed within the folder: a kill leaves no half wheel under the real name.
  if mkdir -p "$2" 2>/dev/null && cp "$1" "$2/.part.$$" 2>/dev/null; then
    mv -f "$2/.part.$$" "$2/$(basename "$1")"
    say "  kept for the next clone in $2"
  else
    rm -f "$2/.part.$$" 2>/dev/null || true
    say "  warning: $2 cannot be written, so the next clone compiles again (set SWIN_MM_CACHE)"
  fi
}

install_mmcv() { # the wheel; fails if its operators do not run
  pip uninstall -y "$mmcv_name" 2>/dev/null || true
  pip install -c $constraints "$1" || die "pip could not install $1"
  # opencv-python wants libGL, which servers lack. Its dependants get it in name and, put on top
  # of it, the build without windows: one cv2 on every machine.
  "$py" -c 'import sys, cv2; sys.exit(not cv2.version.headless)' 2>/dev/null ||
    pip install -c $constraints --no-deps --force-reinstall opencv-python-headless ||
    die "pip could not install opencv-python-headless"
  "$py" tools/mmcv_ops.py check
}

mmcv_step() {
  local mmcv plan key device cached wheel
  mmcv=$(sed -n "s/^$mmcv_name==\([^ ;#]*\).*/\1/p" "$openmmlab")
  if [[ -n ${MMCV_WHEEL:-} ]]; then
    say "3/5 mmcv $mmcv: installing $MMCV_WHEEL"
    [[ ${MMCV_WHEEL##*/} == "${mmcv_name/-/_}-$mmcv"-*.whl ]] ||
      die "MMCV_WHEEL must be a wheel of $mmcv_name $mmcv, not $MMCV_WHEEL"
    "$py" tools/mmcv_ops.py intact "$MMCV_WHEEL" ||
      die "$MMCV_WHEEL is broken, or has no compiled operators"
    install_mmcv "$MMCV_WHEEL" || die "the operators of $MMCV_WHEEL do not run here"
    return
  fi
  plan=$("$py" tools/mmcv_ops.py plan "$mmcv")
  key=${plan%%$'\n'*} device=${plan#*$'\n'}
  cached=$(cache_folder "$key")
  for wheel in "$cached"/"${mmcv_name/-/_}"-*.whl; do
    [[ -e $wheel ]] || continue
    if "$py" tools/mmcv_ops.py intact "$wheel"; then
      say "3/5 mmcv $mmcv: from the cache, compiled for $device"
      install_mmcv "$wheel" && return
    fi
    say "  warning: $wheel is broken and will be compiled again"
  done
  say "3/5 mmcv $mmcv: compiling its operators for $device (10 to 15 minutes on two cores, once)"
  built=$(mktemp -d "${TMPDIR:-/tmp}/swin_mm.XXXXXX")
  trap 'rm -rf "$built"' EXIT
  compile_mmcv "$mmcv" "$device" "$built"
  install_mmcv "$built"/*.whl || die "mmcv's operators compiled, but do not run"
  keep_wheel "$built"/*.whl "$cached"
}

# What kernels for the CPU are missing, and the compiler that would make them.
missing_kernels() {
  local files
  files=$("$base" swin_mm/ops/kernels/recipe.py)
  [[ -z $files ]] || printf '%s for %s' "$(command -v "${CXX:-c++}")" "$files"
}

# Installing compiles them. Where it cannot, torch's operators do the work: no reason to fail.
install_swin_mm() {
  pip install --no-build-isolation --no-deps -e . || die "pip could not install swin_mm"
  missing_kernels >"$venv/kernels-missing"
  local why
  why=$("$py" -W ignore -c 'from swin_mm.ops.kernels import why_not; print(why_not() or "")') ||
    die "swin_mm does not import"
  [[ -z $why ]] || say "  without compiled kernels, slower on the CPU: $why"
}

# One set-up at a time in a folder; the lock is on this file and ends with the process.
if command -v flock >/dev/null; then
  exec 9<"tools/setup_env.sh"
  flock -n 9 || { say "another set-up is at work here, waiting for it" && flock 9; } || true
fi

base=$(find_python)
version=$("$base" -c 'import platform; print(platform.python_version())')
wanted=$(fingerprint)
if [[ -z ${MMCV_WHEEL:-} && -x $py && -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  # After a pull they are of other sources. What the same compiler could not make is not tried again.
  missing=$(missing_kernels)
  if [[ -n $missing && $missing != "$(cat "$venv/kernels-missing" 2>/dev/null)" ]]; then
    say "compiling swin_mm's kernels anew (half a minute)"
    install_swin_mm
  fi
  say "$name is ready (Python $version)"
  exit
fi
need_compiler

say "1/5 $name with Python $version"
make_venv
rm -f "$stamp"
say "2/5 torch and the tools (one to five minutes: 200 MB with a CPU build of torch, 3 GB with CUDA's)"
pip install -c $constraints ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} \
  -r requirements/build.txt -r requirements/dev.txt || die "pip could not install torch and the tools"
mmcv_step
say "4/5 mmengine, mmdet and mmseg (a minute)"
pip install -c $constraints --no-build-isolation -r "$openmmlab" ||
  die "pip could not install OpenMMLab's libraries"
say "5/5 swin_mm itself, editable, and its kernels for the CPU (half a minute)"
install_swin_mm
problems=$(pip check) || die "the installed versions contradict each other: $problems"

printf '%s\n' "$wanted" >"$stamp"
say "done. Now: source $name/bin/activate, then python tools/doctor.py says what works"
