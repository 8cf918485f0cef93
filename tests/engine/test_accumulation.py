"""Gradients that wait for more."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine.checkpointing import SafeCheckpointHook
from swin_mm.engine.safe_loading import allow_safe_reading


@pytest.fixture(autouse=True)
def safe_reading(own_mmengine: None) -> None:
    allow_safe_reading()


def test_a_run_taken_up_between_two_steps_ends_with_the_same_bits(
    toy_run: Callable, tmp_path: Path
) -> None:
    calm = toy_run(tmp_path / "calm", "iteration", accumulate=4)
    for iteration in (3, 4, 5):
        kept = tmp_path / f"calm/iter_{iteration}.pth"
        again = toy_run(tmp_path / f"{iteration}", "iteration", accumulate=4, resume=kept)
        for one, other in zip(calm.model.parameters(), again.model.parameters(), strict=True):
            assert torch.equal(one, other)


def test_gradients_are_kept_only_where_a_step_is_to_come(toy_run: Callable, tmp_path: Path) -> None:
    in_memory: list[dict] = []
    acts = {("before_train_iter", 6): lambda: in_memory.append(hook._pending)}
    run = toy_run(tmp_path / "four", "iteration", accumulate=4, acts=acts, build_only=True)
    (hook,) = (one for one in run.hooks if isinstance(one, SafeCheckpointHook))
    run.train()
    assert in_memory == [{}]  # once they are written
    held = ["gradients" in read_checkpoint(tmp_path / f"four/iter_{i}.pth") for i in (3, 4, 5)]
    assert held == [True, False, True]
    toy_run(tmp_path / "one", "iteration")
    assert "gradients" not in read_checkpoint(tmp_path / "one/iter_3.pth")
