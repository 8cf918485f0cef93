"""Random numbers, kept and given back."""

import random
from pathlib import Path

import numpy as np
import torch

from swin_mm.checkpoints import read_checkpoint
from swin_mm.engine.random_states import capture, drawn_from, restore


def drawn() -> list[float]:
    """A number of each generator, those with a second one in store too."""
    return [random.gauss(0, 1), np.random.randn(), float(torch.rand(())), random.random()]


def test_numbers_go_on_from_where_they_stood() -> None:
    drawn()
    states = capture()
    first = drawn()
    assert drawn() != first
    restore(states)
    assert drawn() == first


def test_states_pass_through_a_checkpoint_that_is_read_without_code(tmp_path: Path) -> None:
    drawn()
    torch.save({"random_states": [capture()]}, tmp_path / "one.pth")
    first = drawn()
    restore(read_checkpoint(tmp_path / "one.pth")["random_states"][0])
    assert drawn() == first


def test_numbers_of_a_sample_follow_from_its_integers_alone() -> None:
    with drawn_from((3, 10, 7, 0)):
        first = drawn()
    drawn()
    with drawn_from((3, 10, 7, 0)):
        assert drawn() == first
    for other in [(4, 10, 7, 0), (3, 11, 7, 0), (3, 10, 8, 0), (3, 10, 7, 1)]:
        with drawn_from(other):
            assert not set(drawn()) & set(first)


def test_after_a_sample_the_numbers_go_on_as_if_there_had_been_none() -> None:
    states = capture()
    first = drawn()
    restore(states)
    with drawn_from((1, 2)):
        drawn()
    assert drawn() == first
