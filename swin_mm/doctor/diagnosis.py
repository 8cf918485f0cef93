"""Ask everything, then judge."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .abilities import ABILITIES, Evidence, Finding
from .child import Answer, ask
from .conflicts import conflicts
from .cures import Trouble
from .machine import look
from .packages import OPTIONAL, installed

# What takes long comes first, so that the rest runs beside it.
PROBES = ("detector", "segmentor", "backbone", "deformable", "mmcv", "torch", "contradictions")


@dataclass(frozen=True)
class Diagnosis:
    """All that the doctor found.

    Attributes:
        evidence: packages, machine, answers.
        findings: what works.
        troubles: what is wrong, or will be.
    """

    evidence: Evidence
    findings: tuple[Finding, ...]
    troubles: tuple[Trouble, ...]

    @property
    def well(self) -> bool:
        """Whether the main job works: the backbone, and every toolbox that is installed."""
        return not self.wanting

    @property
    def wanting(self) -> tuple[str, ...]:
        """What of the main job does not work."""
        packages = self.evidence.packages
        pairs = list(zip(ABILITIES, self.findings, strict=True))
        main = [pairs[0], *(pair for pair in pairs if pair[0].host and packages[pair[0].host])]
        missing = [finding.name for _, finding in main if not finding.works]
        if len(main) == 1:
            missing.append("neither MMDetection nor MMSegmentation is installed")
        return tuple(missing)


def examine(
    *,
    quick: bool = False,
    timeout: float = 180.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Examine this interpreter's environment.

    Args:
        quick: leave out the trial of torch's compiler, which takes longer than all the rest.
        timeout: seconds that one probe may take.
        tell: is handed a line when the work begins, and one for every probe that has answered.
    """
    packages = installed()
    names = [*(() if quick else ("compile",)), *PROBES, *(f"library:{one}" for one in OPTIONAL)]

    number = itertools.count(1)

    def answer(name: str) -> tuple[str, Answer]:
        told = ask(name, timeout=timeout)
        tell(f"{next(number)} of {len(names)}: {name}")
        return name, told

    tell(f"Trying {len(names)} things, each in a process of its own; it takes a minute or a few")
    # Two at a time: each imports torch, and takes a core and up to 1 GB.
    with ThreadPoolExecutor(2) as pool:
        answers = dict(pool.map(answer, names))
    evidence = Evidence(packages, look(), answers)
    findings = tuple(ability.find(evidence) for ability in ABILITIES)
    return Diagnosis(evidence, findings, tuple(conflicts(packages, evidence.machine, answers)))
