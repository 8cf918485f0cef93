"""What works with what is installed: every line is proven by a probe that did it, at toy size."""

from __future__ import annotations

import os
import sysconfig
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .child import Answer
from .cures import Installed, Trouble, compile_kernels, compile_mmcv, explain, install
from .machine import Machine


@dataclass(frozen=True)
class Evidence:
    """What the doctor knows before it judges."""

    packages: Installed
    machine: Machine
    answers: Mapping[str, Answer]


@dataclass(frozen=True)
class Finding:
    """Whether one thing works.

    Attributes:
        name: what a user would do.
        works: None where it was not tried or there is nothing to try it on, as without a GPU.
        note: how, or why not.
        cure: the command that mends it, if it is broken and one is known.
    """

    name: str
    works: bool | None
    note: str = ""
    cure: str = ""


@dataclass(frozen=True)
class Ability:
    """Something that a user would do, and how it is judged.

    Attributes:
        name: in a user's words.
        judge: from the evidence to works, a note and a cure.
        host: the library whose main job it is, if it is one's: it counts where that is installed.
    """

    name: str
    judge: Callable[[Evidence], tuple[bool | None, str, str]]
    host: str = ""

    def find(self, evidence: Evidence) -> Finding:
        """Judge."""
        return Finding(self.name, *self.judge(evidence))


Judgement = tuple[bool | None, str, str]


def _broken(trouble: Trouble) -> Judgement:
    return False, trouble.what, trouble.cure


def _proven(probe: str, library: str, note: str) -> Callable[[Evidence], Judgement]:
    """Judge by a probe that did the thing."""

    def judge(evidence: Evidence) -> Judgement:
        answer = evidence.answers[probe]
        if answer.ok:
            return True, note, ""
        return _broken(explain(answer, evidence.packages, library=library))

    return judge


def _deformable(evidence: Evidence) -> Judgement:
    """Two probes: the operator, and a detector around it."""
    for probe, library in (("deformable", "mmcv"), ("detector", "mmdet")):
        answer = evidence.answers[probe]
        if not answer.ok:
            return _broken(explain(answer, evidence.packages, library=library))
    return True, "deformable attention computes", ""


def _gpu(evidence: Evidence) -> Judgement:
    torch, mmcv = evidence.answers["torch"], evidence.answers["mmcv"]
    if not torch.ok:
        return _broken(explain(torch, evidence.packages, library="torch"))
    if not torch.facts["devices"]:
        built = torch.facts["cuda"]
        why = "torch finds no GPU" if built else "this torch is built for the CPU"
        return None, f"{why}: everything runs on the CPU", ""
    names = ", ".join(device["name"] for device in torch.facts["devices"])
    if mmcv.ok and not mmcv.facts["cuda"]:
        cure = compile_mmcv(evidence.packages, cuda=True)
        return False, f"{names}; mmcv's operators were compiled for the CPU alone", cure
    return True, names, ""


def _amp(evidence: Evidence) -> Judgement:
    torch = evidence.answers["torch"]
    if not torch.ok:
        return _broken(explain(torch, evidence.packages, library="torch"))
    if torch.facts["devices"]:
        return True, "on the GPU", ""
    fast = evidence.machine.bfloat16
    how = f"computes fast here ({fast})" if fast else "is emulated, and slow, on this processor"
    return None, f"training with --amp needs a GPU; bfloat16, of predictions, {how}", ""


def _compile(evidence: Evidence) -> Judgement:
    answer, machine = evidence.answers.get("compile"), evidence.machine
    if answer is None:
        return None, "not tried (--quick)", ""
    if answer.ok:
        return True, f"a toy function took {answer.facts['seconds']:.0f} s", ""
    if not answer.missing and not machine.compiler:
        return False, "there is no C++ compiler", "apt install g++"
    # Inductor hands paths to the compiler without quotes: torch's own, and where it writes.
    written = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or tempfile.gettempdir()
    for place, cure in (
        (sysconfig.get_path("purelib"), ""),
        (written, "export TORCHINDUCTOR_CACHE_DIR=~/.cache/torchinductor"),
    ):
        if " " in place and answer.step.startswith("compile"):
            advice = "" if cure else "; it takes an environment that lies elsewhere"
            return False, f"torch's compiler fails in a path with spaces: {place}{advice}", cure
    return _broken(explain(answer, evidence.packages, library="torch"))


def _export(*libraries: str) -> Callable[[Evidence], Judgement]:
    """Judge by libraries that import."""

    def judge(evidence: Evidence) -> Judgement:
        troubles = []
        for library in libraries:
            answer = evidence.answers[f"library:{library}"]
            if not answer.ok:
                troubles.append((library, explain(answer, evidence.packages, library=library)))
        if not troubles:
            versions = (evidence.packages[one][0] for one in libraries if evidence.packages[one])
            return True, ", ".join(f"{one.name} {one.version}" for one in versions), ""
        if all("not installed" in trouble.what for _, trouble in troubles):
            absent = " ".join(library for library, _ in troubles)
            return None, f"not installed: {absent}", install(absent, evidence.packages)
        return _broken(troubles[0][1])

    return judge


def _kernels(evidence: Evidence) -> Judgement:
    backbone = evidence.answers["backbone"]
    if not backbone.ok:
        return None, "not tried: the backbone does not run", ""
    level, why = backbone.facts["kernels"], backbone.facts["without kernels"]
    if level:
        return True, f"blocks run by those for {level.upper()}", ""
    cure = ""
    if "install swin_mm again" in why:
        cure = compile_kernels(evidence.packages, evidence.machine.compiler)
    return None, f"torch's operators do their work, slower: {why.partition(';')[0]}", cure


def _triton(evidence: Evidence) -> Judgement:
    works, note, cure = _export("triton")(evidence)
    torch = evidence.answers["torch"]
    if works and torch.ok and not torch.facts["devices"]:
        return None, "installed, but there is no GPU to run on", ""
    return works, note, cure


def _processes(evidence: Evidence) -> Judgement:
    torch = evidence.answers["torch"]
    if not torch.ok:
        return _broken(explain(torch, evidence.packages, library="torch"))
    there = [name for name in ("nccl", "gloo") if torch.facts[name]]
    wanted = "nccl" if torch.facts["devices"] else "gloo"
    if wanted in there:
        return True, f"over {wanted}", ""
    return False, f"this torch has no {wanted}", ""


ABILITIES = (
    Ability("the backbone", _proven("backbone", "swin_mm", "forward and backward")),
    Ability(
        "UPerNet and its like (MMSegmentation)",
        _proven("segmentor", "mmseg", "trains and predicts"),
        host="mmseg",
    ),
    Ability(
        "Mask R-CNN and its like (MMDetection)",
        _proven("detector", "mmdet", "trains and predicts"),
        host="mmdet",
    ),
    Ability("DINO, Mask2Former", _deformable),
    Ability("training on a GPU", _gpu),
    Ability("mixed precision (--amp)", _amp),
    Ability("several processes (--launcher)", _processes),
    Ability("compile=True", _compile),
    Ability(".safetensors files", _export("safetensors")),
    Ability("export to ONNX", _export("onnx", "onnxscript", "onnxruntime")),
    Ability("export to OpenVINO", _export("openvino")),
    Ability("kernels in C++", _kernels),
    Ability("kernels in Triton", _triton),
)
