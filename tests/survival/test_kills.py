"""A run that is killed, wherever, ends with the bits of one that was not."""

import os
from collections.abc import Callable
from typing import Any

import pytest


def at(hook: str, iteration: int, **more: Any) -> dict[str, Any]:
    return {"hook": hook, "iteration": iteration, **more}


def inside(file: str, where: float | str) -> dict[str, Any]:
    return {"file": file, "call" if isinstance(where, str) else "bytes": where}


# Twenty kills between saves and around them, ten at a byte of a save: from the first to the last.
CHAINS = {
    ("epoch", 0, 1): [
        at("after_train_iter", 0),
        inside("iter_2.pth", 0),
        at("before_train_iter", 3),
        inside("epoch_1.pth", 0.5),
    ],
    ("epoch", 2, 1): [
        at("after_train_iter", 2),
        inside("iter_4.pth", 1),
        at("after_val_iter", 4),
        at("before_train_iter", 7),
    ],
    ("epoch", 0, 2): [
        at("after_train_iter", 2, rank=1),
        inside("epoch_1.pth", 0.25),
        inside("iter_6.pth", "replace+"),
    ],
    ("epoch", 2, 2): [
        inside("epoch_1.pth", -1),
        at("before_val_epoch", 4, rank=1),
        at("after_train_iter", 6),
        inside("last_checkpoint", 3),
    ],
    ("iteration", 0, 1): [
        at("after_train_iter", 2),
        inside("iter_4.pth", 64),
        at("after_val_iter", 4),
        inside("iter_6.pth", "fsync"),
    ],
    ("iteration", 2, 1): [
        inside("iter_2.pth", -22),
        at("after_train_iter", 1),
        at("before_train_iter", 5),
        inside("iter_8.pth", 0.9),
    ],
    ("iteration", 0, 2): [
        inside("iter_2.pth", "replace"),
        at("before_val_epoch", 4),
        inside("iter_6.pth", 0.75),
    ],
    ("iteration", 2, 2): [
        at("after_train_iter", 1, rank=1),
        inside("iter_4.pth", 0.1),
        at("before_train_iter", 6, rank=1),
        at("after_val_iter", 8),
    ],
}


def test_the_chains_hold_thirty_kills_ten_of_them_at_a_byte_of_a_save() -> None:
    kills = [kill for chain in CHAINS.values() for kill in chain]
    assert len(kills) == 30
    assert sum("bytes" in kill and kill["file"] != "last_checkpoint" for kill in kills) == 10


@pytest.mark.nightly
@pytest.mark.parametrize(("loop", "workers", "ranks"), CHAINS)
def test_a_run_killed_again_and_again_ends_as_one_that_was_not(
    loop: str,
    workers: int,
    ranks: int,
    new_run: Callable,
    live: Callable,
    differing: Callable,
) -> None:
    calm, killed = (
        new_run(name, loop, workers=workers, ranks=ranks) for name in ("calm", "killed")
    )
    chain = CHAINS[loop, workers, ranks]
    codes = live([calm.life(), *(killed.life(kill) for kill in chain), killed.life()])
    assert codes[0] == codes[-1] == [0] * ranks, killed.log(len(chain) + 1)
    assert codes[1:-1] == [[-9] * ranks] * len(chain)
    assert differing(calm.result(), killed.result()) == []


def test_a_run_killed_in_a_save_and_in_a_validation_ends_as_one_that_was_not(
    new_run: Callable, live: Callable, differing: Callable
) -> None:
    calm, killed = (new_run(name, "epoch", workers=2) for name in ("calm", "killed"))
    chain = [inside("epoch_1.pth", 0.5), at("after_val_iter", 4)]
    codes = live([calm.life(), *(killed.life(kill) for kill in chain), killed.life()])
    assert codes == [[0], [-9], [-9], [0]], killed.log(3)
    assert "iter_4.pth" in killed.log(2).partition("Iter")[0]  # the newest that was whole
    assert differing(calm.result(), killed.result()) == []
    assert not [name for name in os.listdir(killed.folder / "work") if name.endswith(".part")]


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_signals_stop_a_run_with_a_checkpoint_from_which_it_goes_on_exactly(
    ranks: int, new_run: Callable, live: Callable, differing: Callable
) -> None:
    calm, asked = (new_run(name, "iteration", ranks=ranks) for name in ("calm", "asked"))
    chain = [
        at("before_train_iter", 2, signal="SIGTERM", rank=ranks - 1),
        at("after_val_iter", 4, before=True, signal="SIGINT", rank=0),
    ]
    codes = live([calm.life(), *(asked.life(signal) for signal in chain), asked.life()])
    assert codes == [[code] * ranks for code in (0, 143, 130, 0)], asked.log(3)
    assert "SIGTERM: stopped after iteration 3, saved" in asked.log(1)
    assert "SIGINT: stopped after iteration 4, saved" in asked.log(2)
    assert differing(calm.result(), asked.result()) == []
