"""Two processes that share the parameters (FSDP2) against one that has them all."""

import copy
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from gloo_ranks import RANKS, run_ranks
from toy_training import (
    Case,
    Outcome,
    backbone_of,
    batch_of,
    build,
    furthest,
    loss_of,
    outcome,
    path_of,
)

from swin_mm.checkpoints import load_pretrained, read_checkpoint

EXACT = {
    "v1-stages": ("stages", Case()),
    "v2-stages-frozen": ("stages", Case(version=2, options={"frozen_stages": 2, "with_cp": True})),
    "v2-blocks": ("blocks", Case(version=2, path="modules", options={"depths": (2, 1, 1, 1)})),
    "upernet": ("stages", Case(model="upernet")),
    "v1-blocks-recomputing": ("blocks", Case(path="modules", options={"with_cp": True})),
    "v1-model": ("model", Case(options={"use_abs_pos_embed": True, "out_indices": (0, 2)})),
    "upernet-v2": ("blocks", Case(model="upernet", version=2, path="modules")),
}
MIXED = {
    "v1-stages-bf16": ("stages", Case(dtype="float32")),
    "v2-blocks-bf16": ("blocks", Case(version=2, dtype="float32", path="modules")),
}
NIGHTLY = {"v1-blocks-recomputing", "v1-model", "upernet", "upernet-v2", "v2-blocks-bf16"}


def each(names: Iterable[str]) -> pytest.MarkDecorator:
    """A test for every case, at night for some."""
    marks = {name: [pytest.mark.nightly] if name in NIGHTLY else [] for name in names}
    return pytest.mark.parametrize("name", [pytest.param(n, marks=m) for n, m in marks.items()])


def run_all(names: Iterable[str], folder: Path) -> Path:
    """Run cases in two processes, which leave in a folder what came of them."""
    jobs = {}
    for name in names:
        apart, case = {**EXACT, **MIXED}[name]
        jobs[name] = {"apart": apart, "mixed": name in MIXED, "options": asdict(case)}
    run_ranks("fsdp_ranks.py", folder, json.dumps(jobs), folder=folder)
    return folder


@pytest.fixture(scope="module")
def by_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_all(sorted({**EXACT, **MIXED}.keys() - NIGHTLY), tmp_path_factory.mktemp("ranks"))


@pytest.fixture(scope="module")
def by_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_all(sorted(NIGHTLY), tmp_path_factory.mktemp("ranks"))


@pytest.fixture
def place(name: str, request: pytest.FixtureRequest) -> Path:
    """Where what came of a case lies, but for an ending."""
    return request.getfixturevalue("by_night" if name in NIGHTLY else "by_day") / name


def outcome_in(place: Path) -> Outcome:
    return torch.load(f"{place}.pth", weights_only=True)


@each(EXACT)
def test_two_processes_train_as_one_does_with_all_parameters(name: str, place: Path) -> None:
    case = EXACT[name][1]
    theirs, alone = outcome_in(place), outcome(case, build(case))
    assert furthest(theirs["gradients"], alone["gradients"]) <= 1e-10
    assert furthest(theirs["weights"], alone["weights"]) <= 1e-10


@each({**EXACT, **MIXED})
def test_a_training_that_stopped_ends_with_the_same_bits(name: str, place: Path) -> None:
    theirs = outcome_in(place)
    for parameter, value in theirs["weights"].items():
        assert torch.equal(theirs["resumed"][parameter], value), parameter


@each(EXACT)
def test_what_they_save_is_an_ordinary_file(name: str, place: Path) -> None:
    file = f"{place}-stopped.pth"
    backbone = backbone_of(EXACT[name][1])
    report = load_pretrained(backbone, file)
    saved = read_checkpoint(file)["state_dict"]
    assert not report.missing
    for parameter, value in backbone.state_dict().items():
        assert torch.equal(value, saved[f"backbone.{parameter}"].to(value.dtype)), parameter


@each(MIXED)
def test_gathered_in_bf16_they_compute_what_a_model_in_bf16_does(name: str, place: Path) -> None:
    case = MIXED[name][1]
    model = build(case).bfloat16()
    sums: dict[str, torch.Tensor] = {}
    for rank in range(RANKS):
        part, batch = copy.deepcopy(model), batch_of(case, 0, rank, RANKS)
        with path_of(case):
            loss_of(
                case, lambda x, part=part: [one.float() for one in part(x.bfloat16())], batch
            ).backward()
        for parameter, value in part.named_parameters():
            sums[parameter] = sums.get(parameter, 0) + value.grad.float() / RANKS
    assert furthest(outcome_in(place)["gradients"], sums) <= 1e-6
