"""A body of evidence to judge, of a machine where all is well; tests take parts away."""

from collections.abc import Callable

import pytest

from swin_mm.doctor.abilities import Evidence
from swin_mm.doctor.child import Answer
from swin_mm.doctor.machine import GIB, Machine
from swin_mm.doctor.packages import LIBRARIES, Distribution

MACHINE = Machine(
    python="3.11.7, /venv/bin/python",
    system="Linux x86_64, glibc 2.36",
    processor="a processor",
    cores=8,
    memory=16 * GIB,
    shared_memory=8 * GIB,
    disk=100 * GIB,
    bfloat16="AMX",
    compiler="/usr/bin/g++",
)
TORCH = {
    "version": "2.13.0+cpu",
    "cuda": None,
    "devices": [],
    "threads": 8,
    "instructions": "AVX512",
    "weights_only": True,
    "gloo": True,
    "nccl": False,
}


def distribution(name: str, version: str = "1.0") -> Distribution:
    return Distribution(name, version, "/venv/lib", False)


@pytest.fixture
def machine() -> Machine:
    """A machine where nothing is wanting."""
    return MACHINE


@pytest.fixture
def gpu() -> Answer:
    """What torch answers where there is a GPU."""
    card = {"name": "a card", "capability": "9.0", "memory": 80 * GIB}
    return Answer(True, TORCH | {"cuda": "13.0", "devices": [card], "nccl": True})


@pytest.fixture
def packages() -> dict[str, tuple[Distribution, ...]]:
    """Every library, the maintained distributions of OpenMMLab's."""
    return {library: (distribution(names[0]),) for library, names in LIBRARIES.items()}


@pytest.fixture
def original(packages: dict) -> dict[str, tuple[Distribution, ...]]:
    """The original distributions instead, and mmcv without operators."""
    names = {"mmengine": "mmengine", "mmcv": "mmcv-lite", "mmdet": "mmdet"}
    names["mmseg"] = "mmsegmentation"
    return packages | {library: (distribution(name),) for library, name in names.items()}


@pytest.fixture
def answers() -> dict[str, Answer]:
    """All probes succeed, on the CPU."""
    told = {f"library:{library}": Answer(True) for library in LIBRARIES}
    told |= {name: Answer(True) for name in ("detector", "segmentor", "deformable")}
    told["backbone"] = Answer(True, {"kernels": "avx512", "without kernels": None})
    told["contradictions"] = Answer(True, {"lines": []})
    told["compile"] = Answer(True, {"seconds": 12.3, "device": "cpu"})
    told["mmcv"] = Answer(True, {"version": "2.3.6", "cuda": ""})
    return told | {"torch": Answer(True, TORCH)}


@pytest.fixture
def evidence(packages: dict, answers: dict) -> Callable[..., Evidence]:
    """Evidence with some of its parts replaced."""

    def gathered(**parts) -> Evidence:
        return Evidence(
            parts.get("packages", packages),
            parts.get("machine", MACHINE),
            answers | parts.get("answers", {}),
        )

    return gathered
