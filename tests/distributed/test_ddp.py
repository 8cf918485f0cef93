"""Two processes with half a batch each against one with all of it: gradients, and five steps.

In float64 every tensor is compared by itself. In float32, what people train in, the order of sums
alone changes one by 1e-6 and more, so that the gradient is compared as a whole.
"""

import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from gloo_ranks import run_ranks
from toy_training import Case, Outcome, apart, build, furthest, outcome, weights_of

CASES = {
    "v1": Case(),
    "v1-recomputing": Case(options={"with_cp": True, "frozen_stages": 1}),
    "v1-modules-some-maps": Case(
        path="modules", options={"out_indices": (0, 2), "use_abs_pos_embed": True}
    ),
    "v2-recomputing-last-map": Case(version=2, options={"with_cp": True, "out_indices": (3,)}),
    "v2-modules-frozen": Case(version=2, path="modules", options={"frozen_stages": 2}),
    "v1-float32": Case(dtype="float32"),
    "v2-float32": Case(version=2, dtype="float32"),
    "upernet": Case(model="upernet", dtype="float32"),
    "upernet-v2": Case(model="upernet", version=2, options={"frozen_stages": 1}),
}
EXACT = 1e-10


def every_case() -> dict[str, Case]:
    """All of a backbone's switches with one another."""
    switches = {
        "with_cp": (False, True),
        "frozen_stages": (-1, 0, 2, 4),
        "out_indices": ((0, 1, 2, 3), (0, 2), (3,)),
    }
    cases = {}
    for version, path, *values in itertools.product(
        (1, 2), ("chunks", "modules"), *switches.values()
    ):
        options = dict(zip(switches, values, strict=True))
        name = "-".join(map(str, (version, path, *values))).replace(" ", "")
        cases[name] = Case(version=version, path=path, options=options)
    return cases


def in_two_processes(
    cases: Mapping[str, Case], folder: Path, seconds: float = 600
) -> dict[str, Outcome]:
    text = json.dumps({name: asdict(case) for name, case in cases.items()})
    run_ranks("ddp_ranks.py", folder, text, folder=folder, seconds=seconds)
    return {name: torch.load(folder / f"{name}.pth", weights_only=True) for name in cases}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What came of the cases in two processes."""
    return in_two_processes(CASES, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", CASES)
def test_two_processes_train_as_one_does_with_the_doubled_batch(
    name: str, together: dict[str, Outcome]
) -> None:
    case, found = CASES[name], together[name]
    fresh = weights_of(build(case))
    alone = outcome(case, build(case))
    if case.dtype == "float64":
        assert furthest(found["gradients"], alone["gradients"]) <= EXACT
        assert furthest(found["weights"], alone["weights"]) <= EXACT
    else:
        assert apart(found["gradients"], alone["gradients"]) <= 1e-6
        assert furthest(found["weights"], alone["weights"]) <= 1e-6
    learned = {name: alone["weights"][name] for name in alone["gradients"]}
    assert furthest(learned, {name: fresh[name] for name in learned}) > 0.05
    frozen = fresh.keys() - learned.keys()
    assert all(torch.equal(found["weights"][name], fresh[name]) for name in frozen)


@pytest.mark.nightly
def test_they_do_with_all_switches_together(tmp_path: Path) -> None:
    cases = every_case()
    worst = {}
    for name, found in in_two_processes(cases, tmp_path, seconds=3600).items():
        alone = outcome(cases[name], build(cases[name]))
        worst[name] = max(furthest(found[kind], alone[kind]) for kind in alone)
    print(f"{len(worst)} cases, at most {max(worst.values()):.1e} apart")
    assert {name: one for name, one in worst.items() if one > EXACT} == {}
