"""From an error to what it means and the command that mends it."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from .child import Answer
from .packages import OPENMMLAB, Distribution

Installed = Mapping[str, tuple[Distribution, ...]]

# What pip calls a module whose name is another, and what a bare name would leave open.
_PIP_NAMES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "pkg_resources": '"setuptools<81"',
    "skimage": "scikit-image",
    "torch": '"torch>=2.6"',
    "yaml": "pyyaml",
}
_MAINTAINED = {
    "mmengine": "onedl-mmengine",
    "mmdet": "--no-build-isolation onedl-mmdetection",
    "mmseg": "--no-build-isolation onedl-mmsegmentation",
}
_ORIGINAL = {
    "mmengine": "mmengine",
    "mmdet": '"mmdet>=3.3,<3.4"',
    # It imports the last two without asking for them.
    "mmseg": '"mmsegmentation>=1.2.2,<1.3" ftfy regex',
}


@dataclass(frozen=True)
class Trouble:
    """What is wrong, in words, and the command that mends it, where one is known."""

    what: str
    cure: str = ""


def python(words: str) -> str:
    """A command of this interpreter."""
    known = shutil.which("python") == sys.executable
    return f"{'python' if known else shlex.quote(sys.executable)} {words}"


def pip(words: str) -> str:
    """A command of this interpreter's own pip."""
    return python(f"-m pip {words}")


def install(library: str, packages: Installed) -> str:
    """The command that installs a library, of the family of OpenMMLab's libraries that is there."""
    if library == "mmcv":
        return compile_mmcv(packages)
    if library == "swin_mm":
        return pip("install .")
    family = _MAINTAINED if _maintained(packages) else _ORIGINAL
    return pip(f"install {family.get(library) or _PIP_NAMES.get(library, library)}")


def compile_mmcv(packages: Installed, *, cuda: bool = False) -> str:
    """The command that compiles mmcv's operators for the torch that is there."""
    name, tools = "onedl-mmcv==2.3.6", "ninja setuptools wheel"
    if not _maintained(packages):
        # mmdet 3.3 and mmseg 1.2 refuse mmcv 2.2; the set-up of 2.1 imports pkg_resources.
        name, tools = "mmcv==2.1.0", 'ninja "setuptools<81" wheel'
    there = " ".join(one.name for one in packages["mmcv"])
    settings = "FORCE_CUDA=1 MMCV_WITH_OPS=1" if cuda else "MMCV_WITH_OPS=1"
    steps = [pip(f"uninstall -y {there}")] if there else []
    steps.append(pip(f"install {tools}"))
    # pip's cache would hand out a wheel that was compiled for another torch.
    steps.append(f"{settings} {pip(f'install --no-build-isolation --no-cache-dir {name}')}")
    return " && ".join(steps)


def compile_kernels(packages: Installed, compiler: str) -> str:
    """The command that installs swin_mm as it was installed, which compiles its kernels by g++.

    Args:
        packages: what is installed.
        compiler: what would be taken, empty if there is none.
    """
    there = packages["swin_mm"]
    command = pip(f"install --no-deps {'.' if there and not there[0].editable else '-e .'}")
    if "clang" in compiler:
        command = f"CC=gcc CXX=g++ {command}"
    return command if shutil.which("g++") else f"apt install g++ && {command}"


def explain(answer: Answer, packages: Installed, *, library: str = "") -> Trouble:
    """Say what a probe's failure means.

    Args:
        answer: of a probe that failed.
        packages: what is installed.
        library: the library that the probe is about.
    """
    error, missing = answer.error, answer.missing
    top = missing.partition(".")[0]
    short = textwrap.shorten(error, 300, placeholder=" ...")
    what = f"to {answer.step}: {short}" if answer.step else short
    if re.search(r"(No module named '?|import of )mmcv\.(_ext|ops)", error):
        return Trouble("this mmcv has no compiled operators (lite)", compile_mmcv(packages))
    if "undefined symbol" in error and "_ext" in error:
        return Trouble("mmcv's operators were compiled for another torch", compile_mmcv(packages))
    if match := re.search(r"(MMCV|MMEngine)==(\S+) is used but incompatible\W+(.+?)\.?$", error):
        name, version, advice = match.groups()
        refused = f"{library} refuses {name} {version}: {advice[0].lower()}{advice[1:]}"
        if name == "MMEngine":
            return Trouble(refused, f"{install('mmengine', packages)} --upgrade")
        return Trouble(refused, _matching(library, packages))
    if "libGL" in error:
        cure = pip("install --force-reinstall --no-deps opencv-python-headless")
        return Trouble("OpenCV wants libGL, which this machine lacks", cure)
    if re.search(r"multiarray|Numpy is not available|compiled using NumPy 1", error):
        return Trouble(f"a library was compiled for NumPy 1 ({what})", pip('install "numpy<2"'))
    if missing and packages.get(top) and top != missing:
        return Trouble(f"{top} is incomplete, {missing} is missing", _again(top, packages))
    if missing:
        wanting = f"{library} wants {top}, which" if library not in ("", top) else top
        return Trouble(f"{wanting} is not installed", install(top, packages))
    if match := re.fullmatch(r"import (\w+)(\.\w+)*", answer.step):
        compiled = match[0] == "import mmcv.ops"
        cure = compile_mmcv(packages) if compiled else _again(match[1], packages)
        return Trouble(what, cure)
    return Trouble(what)


def _maintained(packages: Installed) -> bool:
    """Whether the maintained forks are there; where there is nothing, they are advised."""
    there = [one for library in OPENMMLAB for one in packages[library]]
    return not there or any(one.maintained for one in there)


def _again(library: str, packages: Installed) -> str:
    """The command that installs what is there once more."""
    names = " ".join(one.name for one in packages.get(library, ()))
    return pip(f"install --force-reinstall --no-deps {names}") if names else ""


def _matching(library: str, packages: Installed) -> str:
    """Bring mmcv and a library that refuses it into one family."""
    if not any(one.maintained for one in packages["mmcv"]):
        return compile_mmcv(packages)
    stale = " ".join(one.name for one in packages[library] if not one.maintained)
    steps = [pip(f"uninstall -y {stale}")] if stale else []
    return " && ".join([*steps, pip(f"install --upgrade {_MAINTAINED[library]}")])
