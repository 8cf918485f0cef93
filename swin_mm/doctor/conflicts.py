"""Combinations that are known to go wrong, and places that are too small."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .child import Answer
from .cures import Installed, Trouble, pip, python
from .machine import GIB, Machine
from .packages import OPENMMLAB

MEGABYTE = 10**6
_CONTRADICTION = re.compile(r"^(\S+) \S+ has requirement (.+?), but you have (\S+) (\S+?)\.?$")


def conflicts(
    packages: Installed, machine: Machine, answers: Mapping[str, Answer]
) -> Iterator[Trouble]:
    """Go through what is wrong, or will be, whatever the probes say."""
    if not answers["contradictions"].facts.get("pip", True):
        yield Trouble(
            "this environment has no pip, which the commands here call", python("-m ensurepip")
        )
    yield from _families(packages)
    yield from _torch(answers["torch"], packages)
    yield from _places(machine, answers["torch"])
    yield from contradictions(answers["contradictions"].facts.get("lines", ()))


def _families(packages: Installed) -> Iterator[Trouble]:
    """Two distributions that write the same files, and libraries of both families."""
    for library in OPENMMLAB:
        names = [one.name for one in packages[library]]
        if len(names) > 1:
            yield Trouble(
                f"{' and '.join(names)} are both installed, and write the same files as {library}",
                f"{pip('uninstall -y ' + ' '.join(names))} && {pip('install ' + _kept(names))}",
            )
    alone = {library: packages[library] for library in OPENMMLAB if len(packages[library]) == 1}
    families = {library: one.maintained for library, (one,) in alone.items()}
    if len(set(families.values())) > 1:
        forks = ", ".join(library for library, fork in families.items() if fork)
        others = ", ".join(library for library, fork in families.items() if not fork)
        yield Trouble(
            f"{forks} of the maintained distributions beside {others} of the original ones: "
            "nobody tests this"
        )


def _kept(names: list[str]) -> str:
    """Which of two is kept: a maintained one, and one with operators."""
    rank = sorted(names, key=lambda name: (not name.startswith("onedl-"), "lite" in name))
    return f"--no-deps --no-build-isolation {rank[0]}"


def _torch(torch: Answer, packages: Installed) -> Iterator[Trouble]:
    if not torch.ok:
        return
    version = tuple(int(part) for part in re.findall(r"\d+", torch.facts["version"])[:2])
    if version < (2, 6) or not torch.facts["weights_only"]:
        yield Trouble(
            f"torch {torch.facts['version']}: swin_mm needs 2.6, which reads weight files without "
            "running their code",
            pip('install --upgrade "torch>=2.6"'),
        )
    elif any(one.name == "mmengine" for one in packages["mmengine"]):
        yield Trouble(
            "MMEngine's own loader cannot read its checkpoints with torch 2.6 or later: "
            "tools/*.py here can, MMDetection's and MMSegmentation's cannot resume or test"
        )


def _places(machine: Machine, torch: Answer) -> Iterator[Trouble]:
    if machine.shared_memory is not None and machine.shared_memory < 256 * MEGABYTE:
        yield Trouble(
            f"/dev/shm has {machine.shared_memory / MEGABYTE:.0f} MB free: workers that load data "
            "die with a bus error. In a container, `docker run --shm-size 2g`; else add "
            "`--cfg-options train_dataloader.num_workers=0`"
        )
    if machine.disk < 5 * GIB:
        yield Trouble(
            f"{machine.disk / GIB:.1f} GiB of disk are free here: a training of Mask R-CNN with "
            "Swin-T keeps three checkpoints of 0.6 GB each"
        )
    if torch.ok and torch.facts["threads"] > machine.cores:
        yield Trouble(
            f"torch uses {torch.facts['threads']} threads on {machine.cores} cores, which slows "
            "all of them",
            f"export OMP_NUM_THREADS={machine.cores}",
        )


def contradictions(lines: list[str]) -> Iterator[Trouble]:
    """What `pip check` says, one trouble for each requirement that is not met."""
    for line in lines:
        match = _CONTRADICTION.match(line)
        if match:
            wanting, needed, name, version = match.groups()
            yield Trouble(
                f"{wanting} wants {needed}, {name} is {version}", pip(f'install "{needed}"')
            )
        elif " requires " in line and "not installed" in line:
            needed = line.partition(" requires ")[2].partition(",")[0]
            yield Trouble(line.rstrip("."), pip(f'install "{needed}"'))
